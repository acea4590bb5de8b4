"""Model files whose arrays have other shapes, kinds or places than a fit gave them.

A file is refused when it is loaded, or what it holds answers as a model does: no array
that was let in makes a prediction fail in NumPy's words, or take the machine's memory.
"""

import io
import json
import resource
import tempfile
import warnings
import zipfile
from functools import cache, partial
from pathlib import Path

import numpy as np
from attack.inputs import described, judge_error, made_odd

ROOM = 2**31
"""Address space beyond what a process has, so that no defect ends the machine."""


@cache
def fits():
    """Return estimators, their data and targets, not fitted yet."""
    import pandas as pd

    from multikernel import estimators
    from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
    from multikernel.kernels.sequence import SpectrumKernel

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((24, 4)), columns=list("abcd"))
    y, three = X["a"].to_numpy() + X["b"].to_numpy(), np.arange(24) % 3
    mixed = X[["a", "b"]].assign(t=np.where(y > 0.0, "u", "v"))
    texts = ["".join(rng.choice(list("ACGT"), 25)) for _ in range(24)]
    kernels = [LinearKernel(), ColumnKernel(GaussianKernel(0.5), [0, 2])]
    grams = estimators.stack_grams([kernel(X.to_numpy()) for kernel in kernels])
    centered = {"normalize": ["center", "trace"]}
    spicy, classify = estimators.SpicyMKLRegressor, estimators.SpicyMKLClassifier
    views = {"one": ["a"], "two": ["b", "t"]}
    several = np.column_stack([y, -X["b"], X["c"]])
    return [
        (spicy(kernels), X, y),
        (spicy(kernels, storage="low_rank", **centered), X, y),
        (spicy(kernels, **centered), X.to_numpy(), y),
        (spicy(kernels, selection="shared"), X, several),
        (classify(kernels), X, three),
        (classify(kernels, selection="shared"), X, three),
        (classify(kernels, normalize="cosine"), X, y > 0.0),
        (spicy("precomputed", **centered), grams, y),
        (spicy(views), mixed, y),
        (spicy([SpectrumKernel(2)]), texts, y),
        (spicy([SpectrumKernel(2)], storage="low_rank"), texts, y),
        (estimators.SpicyMKLRegressorCV(kernels, n_alphas=3, cv=2), X, y),
        (estimators.LpMKLClassifier(kernels), X, three),
        (estimators.LocalRademacherMKLRegressor(kernels), X, y),
        (estimators.GroupOMPRegressor(kernels), X, y),
        (estimators.GroupOMPClassifier(kernels, storage="low_rank"), X, three),
        (estimators.HKLRegressor(), X, y),
        (estimators.HKLClassifierCV(cv=2), X, y > 0.0),
        (estimators.OneClassMKL(kernels), X, None),
    ]


@cache
def honest(number):
    """Fit one model; return samples for predictions, and its file's members."""
    from multikernel.persistence import save

    model, X, y = fits()[number]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(model.fit(X, y), Path(folder) / "model.skops")
        with zipfile.ZipFile(Path(folder) / "model.skops") as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    return X[:5], members


def along(rng, array, change):
    """Change one axis of an array, if it has one."""
    if not array.ndim:
        return array[None]
    return change(array, int(rng.integers(array.ndim)))


CHANGES = (
    lambda rng, a: a[None],
    lambda rng, a: a[..., None],
    lambda rng, a: along(rng, a, lambda b, k: np.delete(b, slice(0, 1), k)),
    lambda rng, a: along(rng, a, lambda b, k: np.take(b, [], k)),
    lambda rng, a: along(rng, a, lambda b, k: np.concatenate([b, b], k)),
    lambda rng, a: along(rng, a, lambda b, k: np.take(b, 0, k) if b.size else b),
    lambda rng, a: along(rng, a, lambda b, k: np.repeat(b, 1 + 200 * (b.size < 99), k)),
    lambda rng, a: a.reshape(-1),
    lambda rng, a: np.ascontiguousarray(a.T),
    lambda rng, a: np.zeros((10_000, 0)),
    lambda rng, a: np.zeros((0,) * a.ndim, a.dtype),
    lambda rng, a: np.array("text"),
    lambda rng, a: a.astype("U3"),
    lambda rng, a: np.zeros(a.shape, complex),
    lambda rng, a: np.zeros(a.shape, [("one", float), ("two", int)]),
    lambda rng, a: np.zeros(a.shape, "M8[s]"),
    lambda rng, a: a.astype(float) if a.dtype.kind in "biuf" else a,
    lambda rng, a: a.astype(np.float16) if a.dtype.kind == "f" else a,
    lambda rng, a: a + 10**6 if a.dtype.kind in "iu" else a,
    lambda rng, a: a - 10**3 if a.dtype.kind == "i" else a,
    lambda rng, a: np.asfortranarray(a),
)


def changed(rng, members):
    """Members of an archive, one or two arrays of which are made odd."""
    members = dict(members)
    for _ in range(1 + (rng.random() < 0.2)):
        arrays = [name for name in members if name.endswith(".npy")]
        name = arrays[rng.integers(len(arrays))]
        array = np.load(io.BytesIO(members[name]), allow_pickle=False)
        change = CHANGES[rng.integers(len(CHANGES))]
        made = made_odd(partial(change, rng), array)
        buffer = io.BytesIO()
        np.save(buffer, made, allow_pickle=False)
        members[name] = buffer.getvalue()
    if rng.random() < 0.15:
        members["schema.json"] = other_numbers(rng, members["schema.json"])
    return members


def other_numbers(rng, text):
    """A tree of which one whole number is another one."""
    tree = json.loads(text)
    nodes = [node for node in _nodes(tree) if _is_number(node)]
    node = nodes[rng.integers(len(nodes))]
    node["content"] = str(rng.choice([-7, -1, 0, 1, 2, 3, 1000, 10**9]))
    return json.dumps(tree).encode()


def _nodes(item):
    if isinstance(item, dict):
        yield item
        item = list(item.values())
    if isinstance(item, list):
        for part in item:
            yield from _nodes(part)


def _is_number(node):
    content = node.get("content")
    return node.get("__loader__") == "JsonNode" and str(content).lstrip("-").isdigit()


def answers(model, X):
    """Ask a model for all that it tells of new samples and of itself."""
    model.predict(X)
    model.contributions(X)
    for name in ("predict_proba", "decision_function", "score_samples"):
        if hasattr(model, name):
            getattr(model, name)(X)
    model.summary()
    list(model.kernel_names_)
    list(model.output_names_)
    repr(model)


def run_one(seed):
    """Return the findings of one model file: (category, sentence) pairs."""
    from multikernel.persistence import load

    rng = np.random.default_rng([seed, 23])
    X, members = honest(int(rng.integers(len(fits()))))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, old[1]))
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / "model.skops"
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in changed(rng, members).items():
                    archive.writestr(name, data)
            try:
                model = load(path)
            except ValueError as error:
                named = str(path) in str(error)
                return [] if named else [("sentences", described(error))]
            answers(model, X)
    except ValueError as error:
        return judge_error(error)
    except Exception as error:
        return [("exceptions", described(error))]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)
    return []
