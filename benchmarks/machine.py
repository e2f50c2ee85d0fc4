"""Where and with what was measured, without any name."""

import os
import platform
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from curta.runs import provenance

COMPARED = ("torch", "transformers", "trl")
"""Libraries with which Curta is compared."""


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
    """Of Python, of Curta and what it needs, and of what is installed of COMPARED."""
    installed = provenance.versions()
    for name in COMPARED:
        with suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


def cpu() -> str:
    """The processor's model, and the widest vector instructions that it has."""
    path, fields = Path("/proc/cpuinfo"), dict[str, str]()
    for line in path.read_text("utf-8").partition("\n\n")[0].splitlines() if path.exists() else ():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    wide = [name for name in ("avx512f", "avx2", "avx") if name in fields.get("flags", "").split()]
    model = fields.get("model name") or platform.processor() or platform.machine()
    return " with ".join([model, *wide[:1]])


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return f"{pages * size / 2**30:.0f} GiB"
