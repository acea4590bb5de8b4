"""Available memory and disk space, checks of sizes, and arrays in files."""

import os
import shutil
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from multikernel.exceptions import StackTooLargeError

V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")
"""Names of a control group's limit, usage and inactive file cache, versions 1 and 2."""


# Reading control groups takes milliseconds, so stacks of at most this size are not
# checked.
MODEST_BYTES = 2**26
"""Bytes that are assumed to be available on every machine."""


def available_bytes(root: Path = Path("/")) -> int:
    """Return the memory that the process may use now without swapping."""
    # MemAvailable of Linux, otherwise the physical memory or 4 GiB, limited by control
    # groups (containers, batch systems). `root` is the folder of proc and sys.
    return min([_machine_bytes(root), *_group_bytes(root)])


def _machine_bytes(root: Path) -> int:
    meminfo = root / "proc/meminfo"
    if meminfo.exists():
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**32


def _group_bytes(root: Path) -> Iterator[int]:
    """Yield the remaining memory of each control group of the process."""
    listing = root / "proc/self/cgroup"
    if not listing.exists():
        return
    for line in listing.read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        group = top / path.lstrip("/")
        # In a container, the path may be that on the host; the container's own group is
        # then the top folder.
        for folder in (group, *group.parents):
            yield from _free_bytes(folder, V1 if controllers else V2)
            if folder == top:
                break


def _free_bytes(folder: Path, names: tuple[str, str, str]) -> Iterator[int]:
    """Yield how many bytes a control group may still use, if it has a limit."""
    # The iterator has one number, or none if the group has no limit or no files in
    # `folder`. `names` are `V1` or `V2`, depending on the group's version.
    limit, usage, cached = names
    try:
        max_bytes = (folder / limit).read_text(encoding="ascii").strip()
        used = int((folder / usage).read_text(encoding="ascii"))
        stat = (folder / "memory.stat").read_text(encoding="ascii")
    except OSError:
        return
    if max_bytes != "max":
        # The system frees the inactive file cache if the process needs memory.
        pages = dict(line.split() for line in stat.splitlines())
        yield max(0, int(max_bytes) - used + int(pages.get(cached, 0)))


def byte_limit(max_bytes: int | None, needed: float = np.inf) -> int:
    """Return the bytes allowed to a stack, by default half of the available memory."""
    # If a stack needs at most `MODEST_BYTES`, this number is the default limit.
    if max_bytes is not None:
        return max_bytes
    return MODEST_BYTES if needed <= MODEST_BYTES else available_bytes() // 2


def readable_bytes(n_bytes: int) -> str:
    """Return a number of bytes in a suitable unit, such as "3.5 GB"."""
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"


def readable_seconds(seconds: float) -> str:
    """Return the order of magnitude of a time: "seconds", "minutes" or "hours"."""
    if seconds < 60.0:
        return "seconds"
    return "minutes" if seconds < 3600.0 else "hours"


def check_memory(subject: str, n_bytes: int, limit: int | None, advice: str) -> None:
    """Raise a StackTooLargeError if more bytes are required than allowed."""
    # `subject` is what requires the bytes, and `advice` the message's last sentence.
    # If `limit` is None, any number of bytes is allowed.
    if limit is not None and n_bytes > limit:
        raise StackTooLargeError(
            f"{subject} would take {readable_bytes(n_bytes)}, but the limit is "
            f"{readable_bytes(limit)}. {advice}"
        )


def check_size(
    shape: tuple[int, int, int],
    item_bytes: int,
    max_bytes: int | None,
    alternatives: str | None = None,
) -> None:
    """Raise a StackTooLargeError if a dense stack would exceed the limit."""
    needed = prod(shape) * item_bytes
    limit = byte_limit(max_bytes, needed)
    if needed <= limit:
        return
    if alternatives is None:
        half = " storage='dense32' for half the memory," * (item_bytes == 8)
        alternatives = (
            "storage='low_rank' to store factors, storage='lazy' to recompute "
            f"kernels in blocks,{half}"
        )
    subject = f"{shape[0]} Gram matrices of {shape[1]} x {shape[2]} numbers"
    advice = f"Use {alternatives} fewer kernels, or raise max_bytes."
    check_memory(subject, needed, limit, advice)


def new_file(
    path: Path, shape: Sequence[int], dtype: str
) -> "np.memmap[tuple[int, ...], np.dtype[np.generic]]":
    """Return an array in a new file, whose disk space is allocated at once."""
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    header = {"descr": np.dtype(dtype).str, "fortran_order": False}
    try:
        with path.open("xb") as file:
            npy.write_array_header_2_0(file, header | {"shape": tuple(shape)})
            file.flush()
            # Otherwise a disk that is full later would kill the process.
            _allocate_disk(file, n_bytes)
    except FileExistsError as error:
        raise FileExistsError(
            f"{path} already exists: choose another folder, or remove this file."
        ) from error
    except OSError as error:
        path.unlink(missing_ok=True)
        free = readable_bytes(shutil.disk_usage(path.parent).free)
        smaller = " or dtype='float32'" if np.dtype(dtype) == np.float64 else ""
        raise OSError(
            f"Cannot write {path}: {error.strerror} ({readable_bytes(n_bytes)} needed, "
            f"{free} free). Choose another folder or, if the disk is full, use fewer "
            f"kernels{smaller}."
        ) from error
    return npy.open_memmap(path, "r+")


def _allocate_disk(file: BinaryIO, n_bytes: int) -> None:
    """Allocate disk space of `n_bytes` after the current position of a file."""
    if hasattr(os, "posix_fallocate"):
        if n_bytes:
            os.posix_fallocate(file.fileno(), file.tell(), n_bytes)
        return
    block = bytes(2**20)
    for start in range(0, n_bytes, len(block)):
        file.write(block[: n_bytes - start])
