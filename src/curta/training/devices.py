"""How JAX is set up for this machine; called before the first computation."""

import contextlib
import os
import re

import jax

from curta.config.errors import UserError, quoted
from curta.training import compiled

CORES = "CURTA_CORES"
"""Set to a count, it bounds the devices: weights are the same to the bit on as many of them."""


def configure() -> None:
    """Keeps compiled programs between runs, and makes one CPU device per core.

    Members are spread over devices, so on a CPU each core trains its own. Where
    the caller has used JAX already, the devices are left as they are.
    """
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
    """Cores that the system lets this process use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def description() -> str:
    """Such as `2 x cpu`, for the record of a run."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind}"
