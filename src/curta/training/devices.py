"""How JAX is set up for this machine; called before the first computation."""

import contextlib
import os

import jax

from curta.training import compiled


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
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def description() -> str:
    """Such as `2 x cpu`, for the record of a run."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind}"
