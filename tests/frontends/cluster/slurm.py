"""A Slurm of one node, with ports and folders of its own, for as long as a block lasts."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")

CONFIGURATION = """
ClusterName=curta
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=30
SchedulerParameters=sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
"""A task that is queued again waits until a credential has expired (`cred_expire`)."""


def missing() -> str:
    """Why there can be no Slurm here; nothing where there can be one."""
    lacking = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if lacking:
        return f"no Slurm: {', '.join(lacking)} (Debian's slurmctld, slurmd, slurm-client, munge)"
    return "" if os.getuid() == 0 else "only root can be Slurm's user for others"


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """Slurm with munge, both begun here; what commands find it by. Its folder is removed."""
    folder = Path(tempfile.mkdtemp(prefix="slurm", dir="/tmp"))  # a socket's path is a short one
    environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": _path()}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        _configure(folder)
        key, pid = folder / "munge.key", folder / "munged.pid"
        files = {"key-file": key, "socket": folder / "munge.sock", "pid-file": pid,
                 "log-file": folder / "munged.log", "seed-file": folder / "munge.seed"}  # fmt: skip
        options = [f"--{name}={path}" for name, path in files.items()]
        for command in (
            ["munged", "--foreground", *options],
            ["slurmctld", "-D", "-f", environment["SLURM_CONF"]],
            ["slurmd", "-D", "-f", environment["SLURM_CONF"]],
        ):
            stack.enter_context(_begun(command, folder, environment))
        _await(folder, environment)
        yield environment


def _configure(folder: Path) -> None:
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    text = CONFIGURATION.format(
        host=socket.gethostname(), user="root", folder=folder, ports=_ports(2),
        cores=os.cpu_count(),
    )  # fmt: skip
    (folder / "slurm.conf").write_text(text)


@contextmanager
def _begun(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A daemon, as long as the block lasts."""
    log = folder / f"{command[0]}.out"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment,
            start_new_session=True,
        )  # fmt: skip
    time.sleep(0.5)
    assert process.poll() is None, log.read_text()
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def _await(folder: Path, environment: dict[str, str]) -> None:
    """Returns once the node takes jobs."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"], env=os.environ | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.2)
    raise AssertionError("".join(path.read_text() for path in folder.glob("*.out")))


def _ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in sockets]


def _path() -> str:
    """Debian has the daemons where only root looks."""
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"
