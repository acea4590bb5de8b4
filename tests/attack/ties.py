"""Permutation tests of small tables, against all permutations in long double."""

import warnings
from itertools import islice, permutations, product

import numpy as np

from multikernel import SpicyMKLRegressor
from multikernel.inspection import kernel_tests
from multikernel.kernels import GaussianKernel, LinearKernel, per_column

DRAWS = 399
"""Permutations of a test."""

DEVIATIONS = 6.0
"""So many standard errors may a share of permutations be from the share of all."""

MOST = 5000
"""Permutations that are enumerated; a table with more is left out."""


def make_table(seed):
    """Return X, y and groups of few rows: constant within groups, repeated, or not."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 4, random.integers(2, 6))
    if random.random() < 0.7:
        sizes[:] = random.integers(1, 4)
    groups = np.repeat(np.arange(sizes.size), sizes)
    X = random.normal(size=(groups.size, 2)) * 10.0 ** random.integers(-3, 4)
    if random.random() < 0.3:
        X = np.round(X)
    X += random.choice([0.0, 1.0, 1e3]) * np.abs(X).max()
    y = random.choice([random.normal(size=groups.size), groups % 2 + 0.0])
    y = y * 10.0 ** random.integers(-6, 7) + random.choice([0.0, 1e3]) * np.abs(y).max()
    firsts = np.searchsorted(groups, groups)
    X = X[firsts] if random.random() < 0.5 else X
    y = y[firsts] if random.random() < 0.4 else y
    order = random.permutation(groups.size)
    return X[order], y[order], groups[order]


def all_orders(groups, permute):
    """Return every order within groups, or of whole groups of one size."""
    members = [np.flatnonzero(groups == label) for label in np.unique(groups)]
    if permute == "within":
        pieces = [members]
        moved = [list(permutations(rows)) for rows in members]
    else:
        sizes = {rows.size for rows in members}
        pieces = [[rows for rows in members if rows.size == size] for size in sizes]
        moved = [list(permutations(blocks)) for blocks in pieces]
        pieces = [[np.concatenate(blocks) for blocks in pieces]]
    for choice in product(*moved):
        order = np.arange(groups.size)
        for rows, new in zip(pieces[0], choice, strict=True):
            order[rows] = np.concatenate([np.atleast_1d(part) for part in new])
        yield order


def exact_share(K, y, orders):
    """Return the share of all orders whose statistic is as large, ties among them."""
    e = y.astype(np.longdouble)
    e -= e.mean()
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    forms = np.array([e[order] @ centered @ e[order] for order in orders])
    return float(np.mean(forms >= forms[0] - 1e-11 * (e @ e) * np.trace(centered)))


def run_one(seed):
    """Return what is wrong with the tests of one table."""
    X, y, groups = make_table(seed)
    permute = ("within", "groups")[seed % 2]
    orders = list(islice(all_orders(groups, permute), MOST + 1))
    x = X.astype(np.longdouble)
    squares = (x[:, None] - x) ** 2
    scale = float(X.std()) or 1.0
    line = [np.outer(each, each) for each in (x - x.mean(axis=0)).T]
    curve = list(np.moveaxis(np.exp(-squares / (2 * scale**2)), 2, 0))
    findings = []
    for kernel, matrices in ((LinearKernel(), line), (GaussianKernel(scale), curve)):
        model = SpicyMKLRegressor(per_column(kernel, 2))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tests = kernel_tests(
                    model,
                    X,
                    y,
                    groups=groups,
                    permute=permute,
                    n_permutations=DRAWS,
                    random_state=seed,
                )
        except ValueError as error:
            sentences = ("y is constant", "different sizes")
            if not any(sentence in str(error) for sentence in sentences):
                findings.append(("exceptions", str(error)))
            continue
        if len(orders) > MOST:
            continue
        shares = [exact_share(K, y, orders) for K in matrices]
        for p, share in zip(tests.permutation_p, shares, strict=True):
            error = np.sqrt(share * (1.0 - share) / DRAWS)
            if abs(p - share) > DEVIATIONS * error + 1.5 / DRAWS * (share < 1.0):
                text = f"p = {p:.3g} where {share:.3g} of all permutations are as large"
                findings.append(("below" if p < share else "inconsistent", text))
        if min(shares) == 1.0 and tests.family_wise_p.min() < 1.0:
            findings.append(("below", "p_family below 1 where all permutations tie"))
    return findings
