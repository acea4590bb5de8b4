"""Content of a model file, validated before any object is built."""

import importlib
import io
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from numpy.lib import format as npy

from multikernel.gram.memory import readable_bytes

FORMAT = 4
"""Format of model files; it increases if earlier versions cannot read new files."""
SCHEMA, VERSION = "schema.json", "multikernel.json"
NUMBERS = re.compile(r"\d+")
MODULES = {"multikernel": "multikernel", "scikit-learn": "sklearn", "numpy": "numpy"}
"""Module name of each library whose objects a model file may contain."""

# Bounds on the bytes of memory that reading a file takes: for a node (measured: 3400),
# a directory entry (600), and each byte of an array that becomes a list (42).
NODE_BYTES, ENTRY_BYTES, BOXING = 4096, 1024, 48

MAX_MEMBERS = 50_000
"""Maximum number of members of an archive; models have a few hundred."""

# Loaders of skops that do not call the class named in the file; all others do.
UNCALLED = ("ObjectNode", "JsonNode", "SliceNode", "DTypeNode")
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class RefusedError(ValueError):
    """A file is refused for its format or size; the message gives the reason."""


def versions() -> dict[str, str]:
    """Return the installed versions of the libraries in `MODULES`, by name."""
    modules = {name: importlib.import_module(path) for name, path in MODULES.items()}
    return {name: module.__version__ for name, module in modules.items()}


def with_version(data: bytes) -> bytes:
    """Return a copy of an archive that records its format and the library versions."""
    stream = io.BytesIO(data)
    with ZipFile(stream, "a") as archive:
        # Earlier releases read the version of this package from the key "version".
        installed = versions()
        version = {"format": FORMAT, "version": installed["multikernel"], **installed}
        archive.writestr(VERSION, json.dumps(version))
    return stream.getvalue()


@dataclass(frozen=True)
class Content:
    """Validated content of a model file."""

    # Archive with the content of the file, but without compression.
    data: bytes
    # Full names of all classes and functions in the file.
    names: set[str]
    # Names of the classes that are called to build the objects.
    calls: set[str]
    # Versions of the libraries with which the file was written, by library.
    versions: dict[str, str]
    # Upper bound on the bytes of memory that loading takes.
    needed: int

    def differing(self) -> list[str]:
        """Return the libraries in the file whose versions may be incompatible."""
        here, modules = (versions(), {name.partition(".")[0] for name in self.names})
        used = {n: v for n, v in self.versions.items() if MODULES[n] in modules}
        return [n for n, version in used.items() if not _can_load(n, version, here[n])]


def _can_load(library: str, version: str, installed: str) -> bool:
    """Return whether version `installed` of a library can load files of `version`."""
    if library == "scikit-learn" or version == installed:
        return version == installed
    then, now = (tuple(map(int, NUMBERS.findall(v)[:2])) for v in (version, installed))
    if library == "numpy":
        return then[:1] == now[:1]
    # From 1.0 on, later versions of this package load files of the same major version.
    return then[:1] == now[:1] >= (1,) and then <= now


def checked_archive(data: bytes, max_bytes: float = math.inf) -> Content:
    """Return the validated content of a model file; raise if it is invalid."""
    # `RefusedError` means another format, or more memory than `max_bytes`; damaged
    # files raise various errors. Reading the directory requires memory for each entry.
    n_members = data.count(b"PK\x01\x02")
    needed = check_memory(len(data) + ENTRY_BYTES * n_members, max_bytes)
    if n_members > MAX_MEMBERS:
        raise ValueError(
            f"The archive has more than {MAX_MEMBERS} members, the largest number "
            "accepted."
        )
    needed = check_memory(needed + _unpacked_bytes(data), max_bytes)
    members = _unpacked(data)
    file_versions = _check_version(members[VERSION]) if VERSION in members else {}
    text = members[SCHEMA].decode()
    needed = check_memory(needed + _parsed_bytes(text), max_bytes)
    tree = _Tree({name: _array_bytes(array) for name, array in members.items()})
    schema = tree.without_references(json.loads(text))
    if schema.get("protocol") == 0:
        raise ValueError(
            "The file was written by an old version of skops (protocol 0), without "
            "the list of functions that loading calls, so it cannot be checked."
        )
    needed = check_memory(needed + tree.n_bytes, max_bytes)
    members[SCHEMA] = json.dumps(schema).encode()
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        while members:
            archive.writestr(*members.popitem())
    return Content(packed.getvalue(), tree.names, tree.calls, file_versions, needed)


def check_memory(needed: int, max_bytes: float) -> int:
    """Return `needed`, a number of bytes; raise if it exceeds the limit."""
    if needed > max_bytes:
        raise RefusedError(
            f"Loading takes at least {readable_bytes(needed)}, but max_bytes is "
            f"{max_bytes}: if you trust the source of the file, raise max_bytes."
        )
    return needed


def _unpacked_bytes(data: bytes) -> int:
    """Return the total size of all members according to the directory."""
    with ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    counts = Counter(entry.filename for entry in entries)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"The archive has several members named {repeated[0]!r}.")
    # zipfile does not limit the size with other compression methods.
    if any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries):
        raise ValueError("The archive uses a compression other than deflate.")
    return sum(entry.file_size for entry in entries)


def _unpacked(data: bytes) -> dict[str, bytes]:
    """Return members by name; raise if the object tree does not name all of them."""
    with ZipFile(io.BytesIO(data)) as archive:
        n_referred = _member(archive, archive.getinfo(SCHEMA)).count(b'"file"')
        entries = archive.infolist()
        n_others = len(entries) - n_referred - 2  # the tree and the versions
        if n_others > 0:
            raise ValueError(
                f"At least {n_others} of the {len(entries)} files in the archive do "
                f"not belong to the model."
            )
        return {entry.filename: _member(archive, entry) for entry in entries}


def _member(archive: ZipFile, entry: ZipInfo) -> bytes:
    """Return a ZIP member's bytes, at most one byte more than `entry` states."""
    # A member may be larger than its entry in the ZIP file's list of members states.
    # The additional byte shows this; the limit bounds the memory.
    with archive.open(entry) as file:
        return file.read(entry.file_size + 1)


def _check_version(text: bytes) -> dict[str, str]:
    """Return a file's library versions by name; raise unless it has format `FORMAT`."""
    version, installed = json.loads(text), versions()["multikernel"]
    if version["format"] != FORMAT:
        advice = "update multikernel"
        if version["format"] < FORMAT:
            writer = version["version"]
            advice = f"fit the model again, or load the file with version {writer}"
        raise RefusedError(
            f"Version {version['version']} of multikernel wrote the file in format "
            f"{version['format']}, but the installed version {installed} reads format "
            f"{FORMAT}: {advice}."
        )
    file_versions = {name: version[name] for name in versions() if name in version}
    if not all(isinstance(number, str) for number in file_versions.values()):
        raise ValueError("The file has a version that is not text.")
    return file_versions


def _parsed_bytes(text: str) -> int:
    """Return an upper bound on the bytes of memory that parsed JSON takes."""
    # The JSON exists as bytes and as text, and so does the copy without references.
    characters = len(text) * (4 if text.isascii() else 16)
    n_separators = sum(map(text.count, ",:"))
    return characters + 130 * n_separators + 200 * sum(map(text.count, "[{"))


class _Tree:
    """A traversal of a model file that collects names, calls and required memory."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.names: set[str] = set()
        self.calls: set[str] = set()
        self.n_bytes = 0
        self._sizes = sizes  # bytes of the arrays in the archive, by file name
        # The ``__id__`` of each type and file.
        self._numbers: dict[tuple[str, ...], int] = {}

    def without_references(
        self, item: object, n_nested: int = 0, *, boxed: bool = False
    ) -> Any:
        """Return a copy of `item`, part of the tree, with references to arrays only."""
        # `n_nested` counts the nodes above `item` with a ``__reduce__``; `boxed` tells
        # whether arrays below `item` become lists. With references, a small file can
        # describe a huge or endless object. So the node numbers ("__id__") are removed,
        # and `_count_node` sets the numbers of arrays again.
        if isinstance(item, list):
            return [
                self.without_references(child, n_nested, boxed=boxed) for child in item
            ]
        if not isinstance(item, dict):
            return item
        # A stored dictionary may itself have the key "__id__", whose value is then a
        # node.
        node = dict(item)
        if not isinstance(node.get("__id__"), dict):
            node.pop("__id__", None)
        if isinstance(node.get("__loader__"), str):
            # skops extends its list of trusted names at each node with ``__reduce__``,
            # so the nodes below it need more memory.
            n_nested += "__reduce__" in node
            boxed = boxed or node.get("type") == "json"
            self._count_node(node, n_nested, boxed=boxed)
        return {
            key: self.without_references(child, n_nested, boxed=boxed)
            for key, child in node.items()
        }

    def _count_node(self, node: dict[str, Any], n_nested: int, *, boxed: bool) -> None:
        """Add a node's type, call and memory to the totals; set its file's number."""
        # `n_nested` is the number of nodes with a ``__reduce__`` among the node and all
        # nodes above it. If `boxed`, an array becomes a list, which needs more memory.
        # Nodes of one type that share a file get the same number as ``__id__``.
        kind = (node["__loader__"], node["__module__"], node["__class__"])
        self.n_bytes += NODE_BYTES * (1 + n_nested)
        name = f"{kind[1]}.{kind[2]}"
        self.names.add(name)
        if kind[0] not in UNCALLED:
            self.calls.add(name)
        if kind[0] == "JsonNode":
            self.n_bytes += _parsed_bytes(node["content"])
        file = node.get("file")
        if isinstance(file, str):
            if (*kind, file) not in self._numbers:
                self.n_bytes += 2 * self._sizes[file]
            self.n_bytes += BOXING * self._sizes[file] * boxed
            file_id = self._numbers.setdefault((*kind, file), len(self._numbers) + 1)
            node["__id__"] = file_id


def _array_bytes(data: bytes) -> int:
    """Return the bytes of an array; raise if its shape exceeds its data."""
    if data.startswith(b"PK"):
        return len(data) + _unpacked_bytes(data)  # a sparse matrix
    if data.startswith(npy.MAGIC_PREFIX):
        stream = io.BytesIO(data)
        shape, _, dtype = HEADERS[npy.read_magic(stream)](stream)
        if math.prod(shape) * max(dtype.itemsize, 1) > len(data):
            raise ValueError(f"An array of shape {shape} has only {len(data)} bytes.")
    return len(data)
