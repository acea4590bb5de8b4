"""Other packages on planted pairs: what they take, and which pairs they name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.interactions.planted import (
    PLANTED,
    peak_bytes,
    planted,
    planted_model,
)
from benchmarks.measure import cpu, limit_cpu

from multikernel import HKLRegressor

Columns = frozenset[int]
"""The columns of an interaction."""

TEST = 1000
"""Samples that scores are of."""


def sparse(X: Any, y: Any) -> tuple[Any, set[Columns]]:
    """Return SpicyMKL with all pairs at the page's strength, and pairs in use."""
    n_columns = X.shape[1]
    model = planted_model(n_columns).fit(X, y)
    pairs = np.column_stack(np.triu_indices(n_columns, 1))
    used = np.flatnonzero(model.kernel_weights_[n_columns:])
    return model, {frozenset(pairs[p].tolist()) for p in used}


def boosted(X: Any, y: Any) -> tuple[Any, set[Columns]]:
    """Return interpret's boosting machine, of ten pairs as in ``choosing``."""
    from interpret.glassbox import ExplainableBoostingRegressor

    size = {"outer_bags": 2, "interactions": 10, "max_rounds": 5000}
    model = ExplainableBoostingRegressor(**size, random_state=0, n_jobs=1).fit(X, y)
    terms = map(frozenset, model.term_features_)
    return model, {term for term in terms if len(term) > 1}


def hierarchical(X: Any, y: Any) -> tuple[Any, set[Columns]]:
    """Return HKL as it comes, and the columns of its products."""
    model = HKLRegressor().fit(X, y)
    nodes = [model.hull_[m] for m in model.active_kernels_.tolist()]
    terms = [frozenset(column for column, _ in node) for node in nodes]
    return model, {term for term in terms if len(term) > 1}


PEERS: dict[str, Callable[[Any, Any], tuple[Any, set[Columns]]]] = {
    "SpicyMKL, all pairs": sparse,
    "EBM, 10 pairs": boosted,
    "HKL": hierarchical,
}


def peer(name: str, n: int, d: int, draw: int, limit: int) -> dict[str, Any]:
    """Fit a model to planted pairs, in at most so many seconds of the processor."""
    fit = PEERS[name]
    print("{}", flush=True)  # all that is known if the limit ends this process
    fit(*planted(50, 5))  # what is compiled is compiled before
    X, y = planted(n + TEST, d, draw)
    limit_cpu(limit)
    (model, terms), seconds = cpu(lambda: fit(X[:n], y[:n]))
    wanted = {frozenset(pair) for pair in PLANTED}
    return {
        "seconds": seconds,
        "peak_bytes": peak_bytes(),
        "score": float(model.score(X[n:], y[n:])),
        "found": len(wanted & terms),
        "false_pairs": len(terms - wanted),
    }
