"""How JAX is set up for this machine, before its first computation."""

import contextlib
import os
import re
from pathlib import Path

import jax

from curta.config import files, system
from curta.config.errors import UserError, quoted
from curta.config.system import Process

CORES = "CURTA_CORES"
"""Environment variable that bounds the number of CPU devices.

On one machine, equal counts give equal weights, bit for bit.
"""


def configure() -> None:
    """Set up the cache of compiled programs, and one CPU device per core.

    Members are spread over devices, so on a CPU each core trains its own. If JAX was used before,
    its devices stay as they are.

    Float32 matrix products use float32: accelerators would round factors to TensorFloat-32 or
    bfloat16, and a certificate's rounding bound is for single precision. CPUs never do.
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
    """The cache of compiled programs, as JAX calls it, in entries of `config.files`.

    JAX writes an entry in place and never again: a torn one would be read, warned of and compiled
    at every start, and an altered one might even be executed. These entries are whole.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def get(self, key: str) -> bytes | None:
        """Return the program of this key; None if there is none, or it is damaged."""
        return files.read_entry(self._path / key)

    def put(self, key: str, value: bytes) -> None:
        """Write a program; JAX does so when `get` returned none that it could use."""
        files.keep_entry(self._path / key, value)


def cores() -> int:
    """Return the number of cores that this process may use, at most $CURTA_CORES if that is set.

    Raises UserError if that is no count.
    """
    limit = os.environ.get(CORES) or str(visible())
    if not re.fullmatch("[1-9][0-9]{0,8}", limit):
        raise UserError(f"${CORES} is {quoted(limit)}: it should be a count of cores, such as 4")
    return min(visible(), int(limit))


def visible() -> int:
    """Return the number of cores that the system lets this process use.

    If several processes on a machine are not bound to cores, each has an equal share.
    """
    total = os.cpu_count() or 1
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    return bound if bound < total else max(1, total // system.process().beside)


def join(process: Process) -> None:
    """Join the processes whose devices are one mesh; call `configure` first.

    Raises UserError if they do not meet, or have different numbers of devices.
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
    """Return a line such as `2 x cpu`, for the record of a run."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind}"
