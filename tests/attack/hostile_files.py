"""Files and command lines from strangers: every attempt must end in one sentence.

Attempts run in a child process, each from a seed of its own, so that one that crashes
the interpreter is counted and the next goes on. Each is held to a limit of time and of
memory. ``python tests/attack/hostile_files.py 1000`` prints the table.
"""

import contextlib
import io
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MAX_BYTES = 2**26
"""What `load` is allowed to take."""
SLACK = 2**26
"""Memory beyond it that is forgiven: modules imported late, and the allocator's own."""
HARD_LIMIT = 2**31
"""Address space beyond what a child has, so that a defect does not end the machine."""
SECONDS = 20.0
FINE = ("accepted", "refused")

Attempt = Callable[[np.random.Generator, Path], Callable[[], str]]


def run(n: int, seed: int, share: float = 0.5) -> Counter[tuple[str, str]]:
    """Make hostile model files and command lines, and count how they end.

    Parameters
    ----------
    n : int
        Number of attempts.
    seed : int
        Attempts of one seed are the same on every machine.
    share : float, default=0.5
        How many of them are model files; the others are command lines.

    Returns
    -------
    table : Counter
        Keys are (what was tried, how it ended); see `failures`.
    """
    table: Counter[tuple[str, str]] = Counter()
    done = 0
    while done < n:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        child = multiprocessing.get_context("spawn").Process(
            target=_attempts, args=(theirs, n, seed, share, done), daemon=True
        )
        child.start()
        theirs.close()
        kind = "the start of a child"
        while done < n:
            try:
                # Twice the limit: a child that does not answer by then hangs in C.
                kind, ending = ours.recv() if ours.poll(2 * SECONDS + 60) else (kind, 0)
            except EOFError:
                child.join()
                ending = f"crash ({child.exitcode})"
            if ending == "":
                continue  # an announcement
            table[kind, ending or "hang"] += 1
            done += 1
            if ending == 0 or str(ending).startswith("crash"):
                break
        child.kill()
        child.join()
    return table


def failures(table: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return what ended in another way than in success or in the documented error."""
    return {key: count for key, count in table.items() if key[1] not in FINE}


def as_text(table: Counter[tuple[str, str]]) -> str:
    """Return the table with a line for each kind of attempt."""
    rows = [
        f"{kind:44} {ending:40} {table[kind, ending]:6}"
        for kind, ending in sorted(table)
    ]
    return "\n".join(rows)


# --------------------------------------------------------------------------------------
# One attempt, with its limits
# --------------------------------------------------------------------------------------


class _OutOfTime(BaseException):
    """Raised by the alarm; nothing may catch it."""


def _attempts(pipe: Any, n: int, seed: int, share: float, first: int) -> None:
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:
        warnings.simplefilter("ignore")
        sys.stderr = nothing
        world = Path(folder)
        _prepare(world)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (size + HARD_LIMIT, size + HARD_LIMIT))
        for number in range(first, n):
            rng = np.random.default_rng([seed, number])
            source = MODEL_FILES if rng.random() < share else COMMAND_LINES
            kind = list(source)[rng.integers(len(source))]
            pipe.send((kind, ""))
            pipe.send((kind, _ending(source[kind], rng, world)))


def _ending(attempt: Attempt, rng: np.random.Generator, world: Path) -> str:
    act = attempt(rng, world)
    before = _memory("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        ending = act()
    except _OutOfTime:
        return "too slow"
    except BaseException as error:
        ending = f"{type(error).__name__}: {error}"[:160].replace("\n", " ")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    taken = _memory("VmHWM") - before
    return ending if taken < MAX_BYTES + SLACK else f"took {taken / 2**20:.0f} MiB"


def _ring(*_: object) -> None:
    raise _OutOfTime


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def _loading(path: Path) -> Callable[[], str]:
    """Load a file: a model or one ValueError that names the file."""
    from multikernel.persistence import load

    def act() -> str:
        try:
            load(path, max_bytes=MAX_BYTES)
        except ValueError as error:
            return "refused" if str(path) in str(error) else f"no name: {error}"[:160]
        return "accepted"

    return act


def _calling(*arguments: object) -> Callable[[], str]:
    """Run a command: exit code 0, or 1 or 2 with a sentence on standard error."""
    from typer.testing import CliRunner

    from multikernel.cli.app import app

    def act() -> str:
        result = CliRunner().invoke(app, [str(word) for word in arguments])
        error = result.exception
        if error is not None and not isinstance(error, SystemExit):
            return f"{type(error).__name__}: {error}"[:160].replace("\n", " ")
        if result.exit_code == 0:
            return "accepted"
        if not result.stderr.strip() or "Traceback" in result.stderr:
            return f"no sentence: {result.stderr}"[:160].replace("\n", " ")
        return "refused"

    return act


def _prepare(world: Path) -> None:
    """Make the honest files that attempts start from."""
    import pandas as pd
    import skops.io  # noqa: F401 - late imports are not an attempt's own memory
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from multikernel import SpicyMKLClassifier, UniformMKLRegressor
    from multikernel.kernels import GaussianKernel, LinearKernel
    from multikernel.persistence import save

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((30, 2)), columns=["age", "dose"])
    y = np.where(X["age"] > 0, "yes", "no")
    kernels = [GaussianKernel(1.0), LinearKernel()]
    pipeline = make_pipeline(StandardScaler(), SpicyMKLClassifier(kernels)).fit(X, y)
    values = {
        "array": np.array([["a", None], [1, 2.5]], dtype=object),
        "mask": np.ma.MaskedArray([1.0, 2.0], [True, False]),
        "state": np.random.RandomState(0),
        "ordered": OrderedDict(a=b"bytes", b=slice(1, 2), c={1, 2}, d=np.float64(2)),
        "loss": SGDClassifier().fit(X, y),
        "model": UniformMKLRegressor(kernels).fit(X, X["dose"]),
    }
    save(pipeline, world / "0.skops")
    save(values, world / "1.skops")
    assert [_loading(world / f"{number}.skops")() for number in (0, 1)] == [
        "accepted"
    ] * 2
    save({"not": "a model"}, world / "dict.skops")
    save([1, 2], world / "list.skops")
    save(StandardScaler().fit(X), world / "scaler.skops")
    save(SpicyMKLClassifier(kernels), world / "unfitted.skops")
    X.assign(y=y).to_csv(world / "data.csv", index=False)
    X.assign(y=y).to_parquet(world / "data.parquet", index=False)
    np.savez(world / "data.npz", X=X.to_numpy(), y=y)
    _calling("fit", world / "data.csv", "-t", "y", "--kernels", "linear")()


# --------------------------------------------------------------------------------------
# Model files
# --------------------------------------------------------------------------------------


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


def _scrambled(data: bytes, rng: np.random.Generator) -> bytes:
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
        data[: rng.integers(len(data))] if rng.random() < 0.2 else _scrambled(data, rng)
    )
    return _loading(path)


def member_changed(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    members = _honest(rng, world)
    name = list(members)[rng.integers(len(members))]
    members[name] = _scrambled(members[name], rng)
    return _loading(_write(world, members))


def members_swapped(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    members = _honest(rng, world)
    names = list(members)
    one, other = rng.choice(len(names), 2)
    members[names[one]] = members[names[other]]
    if rng.random() < 0.3:
        del members[names[other]]
    return _loading(_write(world, members))


def tree_changed(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """Change values and keys of the tree, move and double its branches."""
    return _loading(_tree_changed(rng, world))


def _tree_changed(rng: np.random.Generator, world: Path) -> Path:
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
    "JsonNode", "FunctionNode", "NdArrayNode", "ConstructorFromReduceNode", "CachedNode", "NoNode",
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
    return _loading(_saved(path, bytes(data)))


def _saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def bomb(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """A small file that describes something large, or something endless."""
    bombs = (
        _zeros, _lying_zeros, _one_member_often, _many_nodes, _json_in_json, _laughs,
        _greedy_calls, _huge_shape, _empty_items, _boxed, _deep, _sparse_zeros,
        _losses_in_losses, _many_entries,
    )  # fmt: skip
    return _loading(bombs[rng.integers(len(bombs))](rng, world))


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
    return _saved(path, bytes(data))


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


# --------------------------------------------------------------------------------------
# Command lines
# --------------------------------------------------------------------------------------

FIT = ("--target", "y", "--kernels", "linear")
VALUES = (
    "1", "0", "-1", "nan", "inf", "-inf", "1e400", "9" * 400, "1e-300", "null", "true",
    "[1]", "[[1, 2], [3]]", "{}", '{"yes": 1}', '{"no": "x"}', "[", '"x"', "", "yes",
    "[" * 2000, "[/]", "\x00", "-0", "1.5", '["hinge"]', "precomputed", "trace",
)  # fmt: skip
OPTIONS = (
    "--alpha", "-C", "-p", "--cv", "--tol", "--method", "--task", "--loss", "--kernels",
    "--drop", "--target", "--set", "--n-alphas", "--ratio", "--rows", "--output",
)  # fmt: skip


def odd_settings(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    from multikernel.cli._methods import METHODS

    method = list(METHODS)[rng.integers(len(METHODS))]
    chooses = rng.random() < 0.3 and method != "uniform"
    words = ["fit", world / "data.csv", *FIT, "--method", method]
    words += ["--cv", "2"] * chooses
    kinds = METHODS[method].cv_estimators if chooses else METHODS[method].estimators
    names = [*kinds["classification"]().get_params(), "no_such_thing"]
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(len(names))]
        words += ["--set", f"{name}={VALUES[rng.integers(len(VALUES))]}"]
    return _calling(*words)


def odd_options(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    command = ("fit", "path")[rng.integers(2)]
    words = [command, world / "data.csv", *FIT]
    for _ in range(rng.integers(1, 3)):
        words += [
            OPTIONS[rng.integers(len(OPTIONS))],
            VALUES[rng.integers(len(VALUES))],
        ]
    return _calling(*words)


def odd_arrays(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """An npz file whose arrays have odd kinds, shapes and names."""
    arrays: dict[str, Any] = {
        "X": _odd_array(rng, (20, 2)),
        "y": _odd_array(rng, (20,)),
    }
    if rng.random() < 0.5:
        arrays["feature_names"] = _odd_array(rng, (2,))
    if rng.random() < 0.3:
        arrays["K"] = _odd_array(rng, (2, 20, 20))
        arrays["kernel_names"] = _odd_array(rng, (2,))
    for name in [name for name in arrays if rng.random() < 0.1]:
        del arrays[name]
    np.savez(world / "odd.npz", allow_pickle=False, **arrays)
    drop = ["--drop", "x0"] * (rng.random() < 0.2)
    return _calling("fit", world / "odd.npz", *FIT, *drop)


def _odd_array(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    honest = rng.standard_normal(shape)
    odd: list[Any] = [
        honest.astype("datetime64[s]"),
        honest.astype("timedelta64[s]"),
        honest + 1j,
        honest.astype(np.longdouble),
        honest.astype(np.float16),
        np.zeros(shape),
        np.full(shape, 1e-161),
        honest * 1e-161,
        honest * 1e300,
        np.full(shape, np.nan),
        np.where(honest > 1, np.inf, honest),
        np.array(0.0),
        np.zeros((0, *shape[1:])),
        honest[..., None],
        honest > 0,
        honest.astype("S3"),
        honest.astype("U3"),
        np.zeros(shape, dtype=[("a", float), ("b", int)]),
        np.zeros(shape, dtype="V4"),
        np.full(shape, 2**63, dtype=np.uint64),
        np.arange(np.prod(shape)).reshape(shape),
        np.arange(len(shape) + 3),
    ]
    return odd[rng.integers(len(odd))] if rng.random() < 0.4 else honest


def odd_table(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """A CSV file with odd fields, or any file scrambled or under a foreign name."""
    kind = rng.random()
    ending = ("csv", "parquet", "npz")[rng.integers(3)]
    path = world / f"odd.{ending}"
    if kind < 0.4:
        fields = np.array(
            ["1", "2.5", "", "nan", "inf", "-inf", "1e400", "9" * 400, "a", '"', "1,1"]
            + ["1e-161", "True", "1+2j", "2020-01-01", "\x00", "é", "  ", "0x10"]
        )
        cells = rng.choice(fields[: rng.integers(2, len(fields))], (12, 3))
        lines = ["age,dose,y", *(",".join(row) for row in cells)]
        path = _saved(world / "odd.csv", "\n".join(lines).encode())
    elif kind < 0.8:
        _saved(path, _scrambled((world / f"data.{ending}").read_bytes(), rng))
    else:
        other = sorted(world.glob("[!o]*"))
        source = other[rng.integers(len(other))]
        _saved(path, source.read_bytes())
        if rng.random() < 0.3:
            buffer = io.BytesIO()
            np.save(buffer, np.eye(4))
            _saved(path, buffer.getvalue())
    return _calling("fit", path, *FIT)


def odd_model(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """Predict with, or look into, what is no fitted model, or one that was changed."""
    models = ("dict", "list", "scaler", "unfitted", "0", "1")
    path = world / f"{models[rng.integers(len(models))]}.skops"
    if rng.random() < 0.6:
        path = _tree_changed(rng, world)
    if rng.random() < 0.4:
        return _calling("inspect", path, *(["--json"] * (rng.random() < 0.5)))
    data = world / f"data.{('csv', 'parquet', 'npz')[rng.integers(3)]}"
    words = ["predict", path, data, "--drop", "y"]
    words = [*words[:-2], "--target", "y"] if rng.random() < 0.5 else words
    return _calling(*words, *(["--proba"] * (rng.random() < 0.3)))


COMMAND_LINES: dict[str, Attempt] = {
    f"command line: {attempt.__name__.replace('_', ' ')}": attempt
    for attempt in (odd_settings, odd_options, odd_arrays, odd_table, odd_model)
}


if __name__ == "__main__":
    start = time.perf_counter()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    found = run(count, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(as_text(found))
    print(f"{count} attempts in {time.perf_counter() - start:.0f} s, failed: ", end="")
    print(sum(failures(found).values()))
