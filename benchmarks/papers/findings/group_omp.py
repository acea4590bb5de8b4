"""The claims of MKL-GOMP (Sindhwani and Lozano, 2011)."""

from itertools import pairwise

import numpy as np

from findings.finding import Array, Finding, Results, finding, groups, means, span

GOMP = "MKL-GOMP"
NORMS = ("1", "4/3", "2", "4", "inf")
PLANT = "MultiLoc"
"""The set that is nearest to the paper's PLANT."""


def _levels(results: Results) -> dict[float, dict[str, Array]]:
    """Return test errors in per cent by share of noise kernels and method."""
    found: dict[float, dict[str, Array]] = {}
    for (noise, method), rows in groups(results("figure1"), "noise", "method").items():
        errors = 100.0 * np.array([row["error"] for row in rows])
        found.setdefault(float(str(noise)), {})[str(method)] = errors
    return dict(sorted(found.items()))


def _mean(errors: dict[str, Array], method: str) -> float:
    return float(errors[method].mean())


def below_envelope(results: Results) -> Finding:
    """The error tends to lie below the lower envelope of the norms."""
    parts, holds = [], []
    for level, errors in _levels(results).items():
        best = min(NORMS, key=lambda norm: _mean(errors, norm))
        apart = errors[GOMP] - errors[best]
        error = apart.std(ddof=1) / np.sqrt(apart.size)
        parts.append(f"{level:.0%} {apart.mean():+.2f} ± {error:.2f}")
        holds.append(apart.mean() < 0.0)
    text = f"difference to the best norm, by share of noise: {', '.join(parts)}"
    return finding(text, holds)


def sparse_norm(results: Results) -> Finding:
    """p = 1 excels in the sparsest setting, and is mostly worse elsewhere."""
    levels = list(_levels(results).items())
    holds, parts = [], []
    for level, errors in levels[:-1]:
        worse = sum(_mean(errors, "1") > _mean(errors, norm) for norm in NORMS[1:])
        parts.append(f"{level:.0%} {worse}")
        holds.append(worse >= 3)
    last, errors = levels[-1]
    best = min(NORMS, key=lambda norm: _mean(errors, norm))
    holds.append(_mean(errors, "1") <= _mean(errors, best) + 0.01)
    text = (
        f"p = 1 is worse than so many of the four other norms: {', '.join(parts)}; at "
        f"{last:.0%} it has {_mean(errors, '1'):.2f}, the best norm "
        f"{_mean(errors, best):.2f}"
    )
    return finding(text, holds)


def larger_norms(results: Results) -> Finding:
    """A larger norm improves dense settings, and deteriorates in sparse ones."""
    levels = _levels(results)
    dense, sparse = levels[min(levels)], levels[max(levels)]
    down = [_mean(dense, norm) for norm in NORMS]
    up = [_mean(sparse, norm) for norm in NORMS]
    text = (
        f"without noise kernels {' '.join(f'{e:.1f}' for e in down)}, with the most "
        f"{' '.join(f'{e:.1f}' for e in up)}, from p = 1 to inf"
    )
    steps = [a > b for a, b in pairwise(down)] + [b > a - 0.01 for a, b in pairwise(up)]
    return finding(text, steps)


def kernels_adapt(results: Results) -> Finding:
    """The number of selected kernels adapts to the sparsity."""
    rows = [row for row in results("figure1") if row["method"] == GOMP]
    counts = means(rows, "n_kernels", "noise")
    values = [counts[key] for key in sorted(counts)]
    text = f"{', '.join(f'{value:.0f}' for value in values)} as noise grows"
    return finding(text, (a > b for a, b in pairwise(values)))


def lambdas(results: Results) -> Finding:
    """The best lambda varies with the sparsity, between about 20 and 140."""
    rows = [row for row in results("figure1") if row["method"] == GOMP]
    parts, holds = [], []
    for (noise,), part in sorted(groups(rows, "noise").items()):
        low, high = (
            float(np.exp(np.mean([np.log(row[key]) for row in part])))
            for key in ("smallest_lambda", "lambda")
        )
        parts.append(f"{noise:.0%} {low:.3g} to {high:.3g}")
        holds.append(low <= 140.0 and high >= 20.0)
    text = (
        "geometric means of the smallest and the largest lambda that tie, by share of "
        "noise: "
    )
    return finding(text + ", ".join(parts), holds)


def elastic_net(results: Results) -> Finding:
    """With the hinge loss the elastic net performs as p = 1."""
    parts, holds = [], []
    for level, errors in _levels(results).items():
        apart = errors["elastic net, hinge"] - errors["1, hinge"]
        error = apart.std(ddof=1) / np.sqrt(apart.size)
        parts.append(f"{level:.0%} {apart.mean():+.2f} ± {error:.2f}")
        holds.append(abs(apart.mean()) <= 1.0)
    text = f"elastic net minus p = 1, by share of noise: {', '.join(parts)}"
    return finding(text, holds)


def _scores(results: Results, key: str = "score") -> dict[str, dict[str, Array]]:
    found: dict[str, dict[str, Array]] = {}
    for (data, method), rows in groups(results("figure2"), "data", "method").items():
        values = np.array([row[key] for row in rows], dtype=float)
        found.setdefault(str(data), {})[str(method)] = values
    return found


def _against_joint(results: Results, plant: bool) -> tuple[list[str], list[float]]:
    parts, gains = [], []
    for data, scores in _scores(results).items():
        if (data == PLANT) is plant:
            gain = 100.0 * (scores[GOMP] - scores["joint MKL"])
            error = gain.std(ddof=1) / np.sqrt(gain.size)
            parts.append(f"{data} {gain.mean():+.1f} ± {error:.1f}")
            gains.append(float(gain.mean()))
    return parts, gains


def slightly_better(results: Results) -> Finding:
    """Slightly better than joint MKL, on the two PSORT sets."""
    parts, gains = _against_joint(results, plant=False)
    return finding(f"points of score: {', '.join(parts)}", (g > 0.0 for g in gains))


def slightly_worse(results: Results) -> Finding:
    """Slightly worse than joint MKL on PLANT."""
    parts, gains = _against_joint(results, plant=True)
    return finding(f"points of score: {', '.join(parts)}", (g < 0.0 for g in gains))


def sum_does_well(results: Results) -> Finding:
    """The sum of all kernels does well on PLANT."""
    scores = _scores(results)[PLANT]
    listed = ", ".join(f"{m} {100 * v.mean():.1f}" for m, v in scores.items())
    others = [value.mean() for method, value in scores.items() if method != "sum"]
    text = f"on {PLANT}: {listed}"
    return finding(text, [scores["sum"].mean() >= np.median(others)])


def fewer_kernels(results: Results) -> Finding:
    """Fewer kernels than joint MKL."""
    counts = _scores(results, "n_kernels")
    pairs = {d: (c[GOMP].mean(), c["joint MKL"].mean()) for d, c in counts.items()}
    listed = ", ".join(f"{d} {a:.1f} and {b:.1f}" for d, (a, b) in pairs.items())
    return finding(f"{listed}", (a < b for a, b in pairs.values()))


def single_is_worst(results: Results) -> Finding:
    """One kernel does worst."""
    worst = {
        data: min(scores, key=lambda method: float(scores[method].mean()))
        for data, scores in _scores(results).items()
    }
    listed = ", ".join(f"{data} {method}" for data, method in worst.items())
    return finding(f"worst: {listed}", (m == "single" for m in worst.values()))


def conclusion(results: Results) -> str:
    """Return our conclusion."""
    _, plant = _against_joint(results, plant=True)
    _, others = _against_joint(results, plant=False)
    gains = others + plant
    ahead = sum(gain > 0.0 for gain in gains)
    return (
        "With a sparse truth and many validation data, greedy selection is as good as "
        "the best norm or better at every sparsity, but it chooses among 1400 models "
        "and a norm among 28. On data with several sources it is ahead of joint MKL on "
        f"{ahead} of {len(gains)} sets ({span(gains, '+.1f')} points): neither method "
        "is better in general."
    )
