"""Where and with what was measured, without any name."""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

PACKAGES = ("curta", "jax", "jaxlib", "equinox", "optax", "numpy", "torch", "transformers", "trl")


def machine() -> dict[str, str | int | None]:
    """Processor, cores, memory and system; the devices of JAX, if it was used."""
    used = sys.modules.get("curta.training.devices")
    return {
        "cpu": cpu(),
        "cores": cores(),
        "memory": memory(),
        "system": platform.system(),
        "devices": used.description() if used else None,
    }


def versions() -> dict[str, str]:
    """Of Python and of what is installed of PACKAGES."""
    return {"python": platform.python_version()} | dict(_installed())


def _installed() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)


def cpu() -> str:
    """The processor's model, and the widest vector instructions that it has."""
    fields = _cpuinfo()
    wide = [name for name in ("avx512f", "avx2", "avx") if name in fields.get("flags", "").split()]
    model = fields.get("model name") or platform.processor() or platform.machine()
    return " with ".join([model, *wide[:1]])


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return f"{pages * size / 2**30:.0f} GiB"


def _cpuinfo() -> dict[str, str]:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text("utf-8").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
