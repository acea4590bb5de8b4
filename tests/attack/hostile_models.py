"""Model files from strangers: changed, packed oddly, and small ones that take much."""

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MAX_BYTES = 2**26
"""What `load` is allowed to take."""

Attempt = Callable[[np.random.Generator, Path], Callable[[], str]]


def loading(path: Path) -> Callable[[], str]:
    """Load a file: a model or one ValueError that names the file."""
    from multikernel.persistence import load

    def act() -> str:
        try:
            load(path, max_bytes=MAX_BYTES)
        except ValueError as error:
            return "refused" if str(path) in str(error) else f"no name: {error}"[:160]
        return "accepted"

    return act


def _honest(rng: np.random.Generator, world: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(world / f"{rng.integers(2)}.skops") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(world: Path, members: dict[str, bytes], method: int = 8) -> Path:
    with zipfile.ZipFile(
        world / "hostile.skops", "w", method, compresslevel=1
    ) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return world / "hostile.skops"


def _node(loader: str, kind: str, **fields: Any) -> dict[str, Any]:
    module, _, name = kind.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **fields}


def _write_tree(
    world: Path, root: Any, members: dict[str, bytes] | None = None
) -> Path:
    root = _list(root) if isinstance(root, list) else root
    text = json.dumps(root | {"protocol": 2, "_skops_version": "0.16"})
    return _write(world, {"schema.json": text.encode(), **(members or {})})


def _list(content: list[Any], **fields: Any) -> dict[str, Any]:
    return _node("ListNode", "builtins.list", content=content, **fields)


def _npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def scrambled(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with a few of them changed, cut out, doubled or inserted."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        start, length = rng.integers(len(changed) + 1), int(rng.integers(1, 30))
        piece = rng.bytes(length)
        changed[start : start + rng.choice([0, length])] = rng.choice(
            np.array([piece, b"", bytes(changed[:length]), b"\x00" * length], object)
        )
    return bytes(changed)


def bytes_changed(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    data = (world / f"{rng.integers(2)}.skops").read_bytes()
    path = world / "hostile.skops"
    path.write_bytes(
        data[: rng.integers(len(data))] if rng.random() < 0.2 else scrambled(data, rng)
    )
    return loading(path)


def member_changed(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    members = _honest(rng, world)
    name = list(members)[rng.integers(len(members))]
    members[name] = scrambled(members[name], rng)
    return loading(_write(world, members))


def members_swapped(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    members = _honest(rng, world)
    names = list(members)
    one, other = rng.choice(len(names), 2)
    members[names[one]] = members[names[other]]
    if rng.random() < 0.3:
        del members[names[other]]
    return loading(_write(world, members))


def tree_changed(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """Change values and keys of the tree, move and double its branches."""
    return loading(tree_with_changes(rng, world))


def tree_with_changes(rng: np.random.Generator, world: Path) -> Path:
    members = _honest(rng, world)
    schema = json.loads(members["schema.json"])
    for _ in range(rng.integers(1, 5)):
        places = list(_places(schema))
        holder, key = places[rng.integers(len(places))]
        if not isinstance(holder, dict | list) or key not in dict(_items(holder)):
            continue
        holder[key] = _other(holder[key], places, rng)
        if isinstance(holder, dict) and rng.random() < 0.1:
            del holder[key]
    members["schema.json"] = json.dumps(schema).encode()
    return _write(world, members)


def _items(holder: Any) -> list[tuple[Any, Any]]:
    return list(holder.items() if isinstance(holder, dict) else enumerate(holder))


def _places(item: Any) -> Any:
    if isinstance(item, dict | list):
        for key, child in _items(item):
            yield item, key
            yield from _places(child)


WORDS = (
    "DictNode", "ListNode", "SetNode", "TupleNode", "ObjectNode", "TypeNode",
    "JsonNode",
    "FunctionNode", "NdArrayNode", "ConstructorFromReduceNode", "CachedNode", "NoNode",
    "MethodNode", "PartialNode", "OperatorFuncNode", "RandomStateNode", "BytesNode",
    "SparseMatrixNode", "MaskedArrayNode", "DTypeNode", "LossNode", "SliceNode",
    "builtins", "numpy", "os", "sklearn.pipeline", "multikernel.problem", "Pipeline",
    "system", "ndarray", "void", "Status", "int", "tuple", "json", "", "[[", "1e999",
    "multikernel.kernels.gaussian", "GaussianKernel", "sklearn.utils._mocking",
    "CheckingClassifier", "9" * 500, "\ud800", "\x00", "schema.json",
)  # fmt: skip


def _other(value: Any, places: list[Any], rng: np.random.Generator) -> Any:
    """Return something else to stand in a place of the tree."""
    holder, key = places[rng.integers(len(places))]
    odd = [None, [], {}, -1, 2**63, 10**400, 1.5, True, WORDS[rng.integers(len(WORDS))]]
    choices = [dict(_items(holder)).get(key), odd[rng.integers(len(odd))]]
    if isinstance(value, str):
        choices = [WORDS[rng.integers(len(WORDS))]]
    # By way of text: a branch that is put into itself would never end.
    return json.loads(json.dumps(choices[rng.integers(len(choices))]))


def odd_zip(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """Flag members as encrypted, double them, pack them oddly, lie about sizes."""
    members = _honest(rng, world)
    kind = rng.integers(5)
    path = _write(world, members, method=(12, 14, 8, 8, 0)[kind])
    data = bytearray(path.read_bytes())
    if kind > 1:
        spots = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
        spot = spots[rng.integers(len(spots))]
        field, width = {2: (8, 2), 3: (24, 4), 4: (42, 4)}[int(kind)]
        values = {2: 1, 3: int(rng.integers(2**32)), 4: 0}
        data[spot + field : spot + field + width] = values[int(kind)].to_bytes(
            width, "little"
        )
    return loading(saved(path, bytes(data)))


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def bomb(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """A small file that describes something large, or something endless."""
    bombs = (
        _zeros, _lying_zeros, _one_member_often, _many_nodes, _json_in_json, _laughs,
        _greedy_calls, _huge_shape, _empty_items, _boxed, _deep, _sparse_zeros,
        _losses_in_losses, _many_entries,
    )  # fmt: skip
    return loading(bombs[rng.integers(len(bombs))](rng, world))


def _array(file: str, kind: str = "numpy.ndarray", **fields: Any) -> dict[str, Any]:
    return _node("NdArrayNode", kind, type="numpy", file=file, **fields)


def _zeros(rng: np.random.Generator, world: Path, n_bytes: int = 150_000_000) -> Path:
    header = f"{{'descr':'<f8','fortran_order':False,'shape':({n_bytes // 8},)}}"
    return _write_tree(
        world, [_array("a.npy")], {"a.npy": _npy(header, bytes(n_bytes))}
    )


def _lying_zeros(rng: np.random.Generator, world: Path) -> Path:
    """A directory that promises a few bytes where many come out."""
    path = _zeros(rng, world)
    data = bytearray(path.read_bytes())
    size = (150_000_128).to_bytes(4, "little")
    few = zlib.crc32(b"\x93NUMPY\x01\x00\x76\x00"[:10]).to_bytes(4, "little")
    at = data.rfind(size)
    data[at : at + 4] = (10).to_bytes(4, "little")
    data[at - 8 : at - 4] = few
    return saved(path, bytes(data))


def _one_member_often(rng: np.random.Generator, world: Path) -> Path:
    header = "{'descr':'<f8','fortran_order':False,'shape':(125000,)}"
    content = [_array("a.npy", __id__=number) for number in range(1, 1000)]
    return _write_tree(world, content, {"a.npy": _npy(header, bytes(1_000_000))})


def _many_nodes(rng: np.random.Generator, world: Path) -> Path:
    kinds = (
        _node("FunctionNode", "numpy.add"),
        _node("ObjectNode", "sklearn.linear_model._ridge.Ridge"),
        _node("JsonNode", "builtins.str", content="0"),
        [],
        {},
        0.5,
    )
    kind = kinds[rng.integers(len(kinds))]
    n = 100_000 if isinstance(kind, dict) and kind else 6_000_000
    text = json.dumps(_list([]) | {"protocol": 2})
    pieces = ",".join([json.dumps(kind)] * n)
    text = text.replace("[]", f"[{pieces}]")
    return _write(world, {"schema.json": text.encode()})


def _json_in_json(rng: np.random.Generator, world: Path) -> Path:
    piece = ("[],", "{},", "0.5,", '"\\u00e9\\u00e9",')[rng.integers(4)]
    text = "[" + piece * 3_000_000
    return _write_tree(
        world, [_node("JsonNode", "builtins.str", content=text[:-1] + "]")]
    )


def _laughs(rng: np.random.Generator, world: Path) -> Path:
    """Lists that hold the list before them several times, as references."""
    node = _list([_node("JsonNode", "builtins.str", content="0")], __id__=1)
    for level in range(2, 40):
        node = _list([node] + [_list([], __id__=level - 1)] * 9, __id__=level)
    if rng.random() < 0.5:
        shape = _node("TupleNode", "builtins.tuple", content=[node, node])
        node = _node(
            "NdArrayNode", "numpy.ndarray", type="json", content=[node], shape=shape
        )
    return _write_tree(world, [node])


def _greedy_calls(rng: np.random.Generator, world: Path) -> Path:
    header = "{'descr':'<i8','fortran_order':False,'shape':()}"
    data = _npy(header, (10**9).to_bytes(8, "little"))
    kinds = ("numpy.void", "numpy.bytes_", "builtins.bytearray", "numpy.ndarray")
    kind = kinds[rng.integers(len(kinds))]
    return _write_tree(world, [_array("a.npy", kind)], {"a.npy": data})


def _huge_shape(rng: np.random.Generator, world: Path) -> Path:
    n = 10 ** int(rng.integers(8, 30))
    kind = ("<f8", "|S0", "|V0", "|O", "<U1")[rng.integers(5)]
    header = f"{{'descr':'{kind}','fortran_order':False,'shape':({n},)}}"
    name = ("numpy.ndarray", "numpy.bool", "numpy.object_")[rng.integers(3)]
    return _write_tree(world, [_array("a.npy", name)], {"a.npy": _npy(header)})


def _empty_items(rng: np.random.Generator, world: Path) -> Path:
    header = "{'descr':'|S0','fortran_order':False,'shape':(1000000000,)}"
    mask = _node(
        "MaskedArrayNode",
        "numpy.ma.MaskedArray",
        content={"data": _array("a.npy"), "mask": _array("a.npy")},
    )
    return _write_tree(world, [mask], {"a.npy": _npy(header)})


def _boxed(rng: np.random.Generator, world: Path) -> Path:
    """Numbers of an array, taken out one by one into an array of objects."""
    header = "{'descr':'<f8','fortran_order':False,'shape':(125000,)}"
    numbers = [_node("JsonNode", "builtins.str", content="1")] * 2
    shape = _node("TupleNode", "builtins.tuple", content=numbers)
    content = [_array("a.npy", __id__=1)] * 300
    node = _node(
        "NdArrayNode", "numpy.ndarray", type="json", content=content, shape=shape
    )
    return _write_tree(world, [node], {"a.npy": _npy(header, bytes(1_000_000))})


def _deep(rng: np.random.Generator, world: Path) -> Path:
    depth = int(rng.integers(200, 100_000))
    start, end = json.dumps(_list([])).split("[]")
    text = f"{start}[" * depth + f"]{end}" * depth
    if rng.random() < 0.3:
        text = "[" * depth
    return _write(world, {"schema.json": text.encode()})


def _sparse_zeros(rng: np.random.Generator, world: Path) -> Path:
    inner = io.BytesIO()
    header = "{'descr':'<f8','fortran_order':False,'shape':(10000000,)}"
    with zipfile.ZipFile(inner, "w", (8, 12, 14)[rng.integers(3)]) as archive:
        archive.writestr(
            "format.npy",
            _npy("{'descr':'|S3','fortran_order':False,'shape':()}", b"csr"),
        )
        for name in ("data", "indices", "indptr"):
            archive.writestr(f"{name}.npy", _npy(header, bytes(80_000_000)))
    node = _node(
        "SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="a"
    )
    return _write_tree(world, [node], {"a": inner.getvalue()})


def _losses_in_losses(rng: np.random.Generator, world: Path) -> Path:
    """Each of these hands a longer list of trusted names to all below it."""
    empty = _node("TupleNode", "builtins.tuple", content=[])
    leaves = [_node("JsonNode", "builtins.str", content="0")] * 3000
    node = _list(leaves)
    for _ in range(150):
        node = _node(
            "LossNode",
            "sklearn.linear_model._sgd_fast.Hinge",
            content=node,
            __reduce__={"args": empty},
        )
    return _write_tree(world, [node])


def _many_entries(rng: np.random.Generator, world: Path) -> Path:
    return _write(world, {str(number): b"" for number in range(60_000)}, method=0)


MODEL_FILES: dict[str, Attempt] = {
    f"model file: {attempt.__name__.replace('_', ' ')}": attempt
    for attempt in (
        bytes_changed,
        member_changed,
        members_swapped,
        tree_changed,
        odd_zip,
        bomb,
    )
}
