"""Altered arrays and numbers in the parts of scikit-learn that model files may hold.

Each is loaded, and predicts: it answers, or raises an error of Python.
Where compiled code reads beyond an array, the process ends, which is what is counted.
"""

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
from attack.hostile_models import MAX_BYTES, Attempt, saved

METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "inverse_transform",
    "score_samples",
)  # fmt: skip
NUMBERS = ("0", "-1", "1", "2", "7", "1000000000", "null", "true", "1e300", "[]")


def classes() -> list[type]:
    """Return the public estimators of scikit-learn that `load` trusts."""
    from multikernel.persistence.trust import SKLEARN

    named = (
        getattr(import_module(f"sklearn.{package}"), name, None)
        for package, names in SKLEARN.items()
        for name in names.split()
        if name[0] != "_"
    )
    return [kind for kind in named if hasattr(kind, "fit")]


def unfitted(kind: type) -> Any:
    """Return an estimator of a class with what its constructor asks for."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    regression = "Regressor" in kind.__name__ or kind.__name__ == "RegressorChain"
    model = Ridge() if regression else LogisticRegression()
    needed = {
        "estimator": model,
        "estimators": [("a", model)],
        "param_grid": {"C": [0.5, 1.0]},
        "param_distributions": {"C": [0.5, 1.0]},
        "steps": [("a", StandardScaler()), ("b", model)],
        "transformer_list": [("a", StandardScaler()), ("b", OneHotEncoder())],
        "transformers": [("a", StandardScaler(), [0, 1]), ("b", OneHotEncoder(), [2])],
    }
    always = {"n_iter": 2, "n_components": 2, "max_iter": 100, "random_state": 0}
    if kind.__name__ == "OrthogonalMatchingPursuitCV":
        del always["max_iter"]
    parameters = signature(kind).parameters
    missing = {n for n, each in parameters.items() if each.default is Parameter.empty}
    if kind.__name__.endswith("Chain"):  # in scikit-learn 1.8 it has a default of None
        missing.add("estimator")
    return kind(
        **{name: needed[name] for name in needed.keys() & missing},
        **{name: always[name] for name in always.keys() & parameters.keys()},
    )


def fitted(kind: type, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a fitted estimator and the samples that it was fitted on."""
    X = rng.integers(0, 4, (24, 3)) + 0.5 * rng.integers(0, 2, (24, 3))
    labels = rng.permutation(np.arange(24) % 3)
    for samples, targets in (
        (X, labels),
        (X, labels > 0),
        (X, X[:, 0] + labels),
        (X, np.column_stack([labels > 0, X[:, 0] > 1])),
        (X[:, 0], labels),
        (X @ X.T, None),
        (labels, None),
    ):
        given = (samples,) if targets is None else (samples, targets)
        try:
            return unfitted(kind).fit(*given), samples
        except (IndexError, TypeError, ValueError):
            continue
    raise AssertionError(f"{kind.__name__} takes no data")


def part_altered(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """Alter a fitted part, load it, and call all that it predicts."""
    from multikernel.persistence import model_bytes

    kinds = classes()
    kind = kinds[rng.integers(len(kinds))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, samples = fitted(kind, rng)
        data = altered(model_bytes(model), rng)
    return using(saved(world / "part.skops", data), samples)


def several(n: int, seed: int, world: Path) -> None:
    """Alter so many parts; the process ends if one of them ends it."""
    warnings.simplefilter("ignore")
    for number in range(n):
        part_altered(np.random.default_rng([seed, number]), world)()


def using(path: Path, samples: Any) -> Callable[[], str]:
    """Load a file; predict by what was loaded, in several ways."""
    from multikernel.persistence import load

    def act() -> str:
        try:
            model = load(path, max_bytes=MAX_BYTES)
        except ValueError:
            return "refused"
        for name in METHODS:
            for X in (samples, samples[:2], np.asfortranarray(samples)):
                try:
                    getattr(model, name)(X)
                except Exception:  # Python's errors harm nobody
                    continue
        return "accepted"

    return act


def altered(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with one or two of its arrays and numbers changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith(".npy")]
    for _ in range(rng.integers(1, 3)):
        if arrays and rng.random() < 0.6:
            name = arrays[rng.integers(len(arrays))]
            members[name] = _other_array(members[name], rng)
        else:
            members["schema.json"] = _other_number(members["schema.json"], rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return packed.getvalue()


def _other_array(member: bytes, rng: np.random.Generator) -> bytes:
    array = np.atleast_1d(np.load(io.BytesIO(member)))
    is_number = array.dtype.kind in "biuf"
    numbers = array.astype(float) if is_number else np.zeros(array.shape)
    odd = int(rng.choice([-1, 1, 3, 50, 10**9]))
    others = [
        array[:0],
        np.concatenate([array, array]),
        array[..., :1],
        array[::-1],
        array.T,
        array.reshape(-1),
        array.reshape(1, -1),
        np.zeros((0, 7)),
        np.full((1, 3), 10**12),
        np.full(array.shape, odd),
        numbers + odd,
        numbers * np.nan,
        np.nan_to_num(numbers).astype(np.int64),
        np.sort(array, axis=None).reshape(array.shape)[..., ::-1],
    ]
    stream = io.BytesIO()
    np.save(stream, others[rng.integers(len(others))], allow_pickle=False)
    return stream.getvalue()


def _other_number(schema: bytes, rng: np.random.Generator) -> bytes:
    tree = json.loads(schema)
    leaves = list(_leaves(tree))
    if leaves:
        leaf = leaves[rng.integers(len(leaves))]
        leaf["content"] = NUMBERS[rng.integers(len(NUMBERS))]
    return json.dumps(tree).encode()


def _leaves(item: Any) -> Any:
    """Yield the nodes of numbers."""
    if isinstance(item, dict):
        if item.get("__loader__") == "JsonNode" and '"' not in item["content"]:
            yield item
        item = list(item.values())
    if isinstance(item, list):
        for child in item:
            yield from _leaves(child)


PARTS: dict[str, Attempt] = {"part of scikit-learn: altered": part_altered}
