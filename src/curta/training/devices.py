"""Set JAX up for this machine, before its first computation."""

import contextlib
import os
import re
from pathlib import Path

import jax

from curta.config import files, system
from curta.config.errors import UserError, quoted
from curta.config.system import Process

CORES = "CURTA_CORES"
"""The environment variable that limits the number of CPU devices.

On one machine, the same number gives the same weights, bit for bit.
"""


def configure() -> None:
    """Set up the cache of compiled programs, one CPU device per core, and float32 products.

    Members are spread over devices, so on a CPU each core trains its own. If JAX was used before,
    its devices stay as they are.

    By default accelerators round the factors of float32 matrix products to TensorFloat-32 or
    bfloat16. This is switched off, since a certificate's rounding bound is for single precision.
    JAX_DEFAULT_MATMUL_PRECISION overrides this.
    """
    if "JAX_DEFAULT_MATMUL_PRECISION" not in os.environ:
        jax.config.update("jax_default_matmul_precision", "highest")
    with contextlib.suppress(ImportError):  # not part of JAX's public interface
        from jax._src import compilation_cache

        if callable(getattr(compilation_cache, "get_file_cache", None)):
            compilation_cache.get_file_cache = lambda path: (CompiledPrograms(path), path)  # type: ignore[assignment, return-value]
    jax.config.update("jax_compilation_cache_dir", str(files.cache_folder() / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cores())


class CompiledPrograms:
    """A cache of compiled programs with the interface that JAX expects, stored by `config.files`.

    JAX's own cache writes an entry in place and never again. A torn entry would be read, reported
    and compiled again at every start, and an altered one might even be executed. Here, damaged
    entries are recognised and replaced.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def get(self, key: str) -> bytes | None:
        """Return the program with this key; None if there is none, or it is damaged."""
        return files.read_entry(self._path / key)

    def put(self, key: str, value: bytes) -> None:
        """Write a program; JAX calls this when `get` returned nothing that it could use."""
        files.keep_entry(self._path / key, value)


def cores() -> int:
    """Return the number of cores to use: those of this process, at most $CURTA_CORES if it is set.

    Raises UserError if $CURTA_CORES is not a positive number.
    """
    limit = os.environ.get(CORES) or str(visible())
    if not re.fullmatch("[1-9][0-9]{0,8}", limit):
        raise UserError(f"${CORES} is {quoted(limit)}: it should be a count of cores, such as 4")
    return min(visible(), int(limit))


def visible() -> int:
    """Return the number of cores that the system lets this process use.

    If several processes on a machine are not bound to cores, each gets an equal share.
    """
    total = os.cpu_count() or 1
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    return bound if bound < total else max(1, total // system.process().beside)


def join(process: Process) -> None:
    """Connect the processes whose devices form one mesh; call `configure` first.

    Raises UserError if they do not find each other, or have different numbers of devices.
    """
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM from us
    try:
        jax.distributed.initialize(None, process.count, process.index)
        devices = [device.process_index for device in jax.devices()]
    except (RuntimeError, ValueError) as error:
        raise UserError(f"{process.count} processes did not meet: {error}") from None
    counts = [devices.count(index) for index in range(process.count)]
    if len({*counts}) > 1:
        raise UserError(f"processes have {counts} devices: give each as many, such as by srun -c")


def description() -> str:
    """Return the devices as a line such as `2 x cpu`."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind}"
