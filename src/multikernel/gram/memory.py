"""How much memory there is, and how to say it."""

import os
from pathlib import Path

FALLBACK_BYTES = 2**32
"""Assumed where the system does not say."""


def available_bytes() -> int:
    """Return the memory that a program may take now without swapping.

    ``MemAvailable`` of Linux, else the physical memory, else 4 GiB.
    """
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return FALLBACK_BYTES


def readable_bytes(n_bytes: int) -> str:
    """Return a number of bytes in a fitting unit.

    Examples
    --------
    >>> readable_bytes(3_500_000_000)
    '3.5 GB'
    """
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"
