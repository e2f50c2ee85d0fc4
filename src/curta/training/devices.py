"""How JAX is set up for this machine; called before the first computation."""

import contextlib
import os
import re

import jax

from curta.config import launched
from curta.config.errors import UserError, quoted
from curta.config.launched import Process
from curta.training import compiled

CORES = "CURTA_CORES"
"""A count that bounds the devices. On one machine, equal counts give weights equal to the bit."""


def configure() -> None:
    """Keeps compiled programs between runs, and makes one CPU device per core.

    Members are spread over devices, so on a CPU each core trains its own. Where
    the caller has used JAX already, the devices are left as they are.

    Products of float32 are float32: accelerators would round their factors to TensorFloat-32 or
    bfloat16, and a certificate's bound on rounding is for single precision. CPUs do not round
    them either way. JAX_DEFAULT_MATMUL_PRECISION says otherwise where that is wanted.
    """
    if "JAX_DEFAULT_MATMUL_PRECISION" not in os.environ:
        jax.config.update("jax_default_matmul_precision", "highest")
    compiled.install()
    jax.config.update("jax_compilation_cache_dir", str(compiled.folder()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cores())


def cores() -> int:
    """Cores that this process may use, and of these no more than $CURTA_CORES, if that is set.

    UserError if that is no count.
    """
    most = os.environ.get(CORES) or str(visible())
    if not re.fullmatch("[1-9][0-9]{0,8}", most):
        raise UserError(f"${CORES} is {quoted(most)}: it should be a count of cores, such as 4")
    return min(visible(), int(most))


def visible() -> int:
    """Cores that the system lets this process use.

    Of several processes on a machine that are not bound to cores, each has its share.
    """
    there = os.cpu_count() or 1
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    return own if own < there else max(1, own // launched.process().beside)


def join(process: Process) -> None:
    """Makes this process one of several whose devices are one mesh; call `configure` before.

    Each has as many devices as the others. Raises UserError if they do not meet, or the devices
    are not alike.
    """
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM from us
    try:
        jax.distributed.initialize(None, process.count, process.index)
        devices = [device.process_index for device in jax.devices()]
    except (RuntimeError, ValueError) as error:
        raise UserError(f"{process.count} processes did not meet: {error}") from None
    each = [devices.count(index) for index in range(process.count)]
    if len({*each}) > 1:
        raise UserError(f"processes have {each} devices: give each as many, such as by srun -c")


def description() -> str:
    """Such as `2 x cpu`, for the record of a run."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind}"
