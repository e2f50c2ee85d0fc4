"""Where and with what a benchmark ran, without any name."""

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("curta", "jax", "jaxlib", "equinox", "optax", "numpy", "torch")


def description() -> str:
    """Date, machine and versions as Markdown."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return (
        f"- date: {datetime.date.today().isoformat()}\n"
        f"- machine: {cpu()}, {cores()} cores, {memory()} memory, {platform.system()}\n"
        f"- versions: Python {platform.python_version()}, {versions}\n"
    )


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
