"""The duality gap of a fitted estimator, again, from public attributes alone.

Everything here is computed in extended precision (`numpy.longdouble`) and by formulas
that are written down anew, from the docstrings: nothing of the library's own arithmetic
is trusted. With an intercept the targets of regression are centered first: what is
relative to an objective must not drown in the rounding of what they are about. The
model is read off by `contributions` on probes (`cases.TableKernel`), so
that the objective is the objective of what predicts.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from attack.cases import CENTERED, WEIGHTS
from attack.loss_values import dual_box, loss_conjugate, loss_value

from multikernel.exceptions import ConvergenceWarning

WIDE = np.longdouble
EPS = np.finfo(np.float64).eps


def fitted_and_warned(fit):
    """Return what a fit returns, and whether it warned that it did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit()
    return model, any(issubclass(w.category, ConvergenceWarning) for w in caught)


@dataclass(frozen=True)
class Recomputed:
    """What a problem of a fit truly is: of an output, or of those with one selection.

    ``primal`` is the objective of the published model, ``dual`` a lower bound on the
    optimum from the published dual point, ``gap`` their relative difference;
    ``infeasible`` is how far the dual point was outside its domain, relative to it, and
    ``blur`` what rounding in reading off the model may have changed the gap by.
    ``values`` are decision values, one row per output, and ``sizes`` those of what they
    are sums of.
    """

    primal: float
    dual: float
    gap: float
    infeasible: float
    blur: float
    values: np.ndarray
    sizes: np.ndarray


def scales(case, model):
    """The factor of each normalized kernel, and the matrices before it."""
    kept = case.kept
    grams = case.grams.astype(WIDE)
    weights = np.zeros(len(case.y), dtype=WIDE)
    weights[kept] = 1.0 if case.weights is None else case.weights[kept]
    weights /= weights.sum()
    sizes = np.einsum("i,mii->m", weights, grams)
    means = np.einsum("i,mij,j->m", weights, grams, weights)
    name = case.settings["normalize"]
    if is_single(case):
        grams = grams.astype(np.float32).astype(WIDE)
    factors = np.ones(len(grams), dtype=WIDE)
    if name == "center":
        rows = np.einsum("mij,j->mi", grams, weights)
        grams = grams - rows[:, :, None] - rows[:, None, :] + means[:, None, None]
        factors = (sizes - means > 1e-12 * sizes).astype(WIDE)
    elif name is not None:
        spread = sizes if name == "trace" else sizes - means
        used = spread > (0.0 if name == "trace" else 1e-12 * sizes)
        factors = np.where(used, 1.0 / np.where(used, spread, 1.0), 0.0)
    if case.settings.get("kernel_weights") in WEIGHTS:
        # What weighs the kernels is no part of the problem; with these as they are
        # published, everything else is that of their plain sum.
        factors = factors * np.asarray(model.kernel_weights_, dtype=WIDE)
    if case.family == "LocalRademacherMKL":
        factors = factors / tails(case, weights, grams, factors)
    if case.settings.get("penalty_weights") is not None:
        factors = factors / np.asarray(case.settings["penalty_weights"], WIDE) ** 2
    return factors, grams


def tails(case, weights, grams, factors):
    """Sums of all but the leading eigenvalues of the weighted matrices."""
    roots = np.sqrt(weights)
    square = grams * factors[:, None, None] * roots * roots[:, None]
    values = np.linalg.eigvalsh(square.astype(float))[:, ::-1]
    return np.maximum(values[:, case.settings["theta"] :], 0.0).sum(axis=1).astype(WIDE)


def is_single(case):
    """Whether matrices are held in single precision: those are what is certified."""
    return case.settings.get("storage") == "dense32"


def terms(case, model):
    """Values f_m(x_i) and squared norms of every kernel's term, per output."""
    n_kernels, n, _ = case.grams.shape
    factors, grams = scales(case, model)
    centered = case.settings["normalize"] == "center"
    _, units, zero = case.inputs()
    at = [np.asarray(model.contributions(X), dtype=WIDE) for X in (units, zero)]
    at = [each[:, None] if each.ndim == 2 else each for each in at]
    linear = at[0] - at[1]  # (n_probes, n_outputs, n_active)
    n_outputs = linear.shape[1]
    values = np.zeros((n_outputs, n_kernels, n), dtype=WIDE)
    forms = np.zeros((n_outputs, n_kernels), dtype=WIDE)
    sizes = np.zeros((n_outputs, n), dtype=WIDE)
    for k, m in enumerate(model.active_kernels_):
        u = linear[:, :, k].T / case.units[m]
        if case.form == "linear":
            # What is read off is a sum over samples, whose terms may cancel.
            X = case.X.astype(WIDE)
            values[:, m] = u @ X.T
            forms[:, m] = (u * u).sum(axis=1)
            scale = factors[m] if factors[m] > 0.0 else 1.0
            own = expansion(case, model, m, scale * grams[m], forms[:, m] / scale)
            sizes += own @ np.abs(case.grams[m]) * factors[m]
        else:
            K = case.grams[m].astype(WIDE) if centered else grams[m]
            values[:, m] = u @ K
            forms[:, m] = np.einsum("oi,oi->o", values[:, m], u)
            # Centered terms are read off as differences of values that may cancel.
            lost = WIDE(0.0)
            if centered:
                own = expansion(case, model, m, grams[m], forms[:, m])
                means = np.abs(case.grams[m]).mean(axis=1)
                lost = np.abs(at[1][0, :, k])[:, None] + (own @ means)[:, None]
            sizes += (np.abs(u) + lost / case.units[m]) @ np.abs(K) + lost
        if factors[m] > 0.0:
            forms[:, m] /= factors[m]
        values[:, m] += at[1][0, :, k][:, None]
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=WIDE))
    return values, np.maximum(forms, 0.0), intercept, sizes


def expansion(case, model, m, K, forms):
    """Sizes of the coefficients of kernel m, as far as they are known."""
    duals = np.abs(np.atleast_2d(model.dual_coef_))
    weights = np.atleast_2d(model.kernel_weights_)[:, m]
    if case.family == "GroupOMP":
        total = len(case.y) if case.weights is None else case.weights.sum()
        return duals / (case.settings["alpha"] * total)
    if case.family in ("SpicyMKL", "MKL"):
        # At the optimum the term is the multiple of the dual point with its norm.
        signed = np.atleast_2d(model.dual_coef_)
        dual_forms = np.einsum("oi,ij,oj->o", signed, K, signed)
        shares = np.sqrt(np.maximum(forms, 0.0) / np.maximum(dual_forms, 1e-300))
        return duals * shares[:, None]
    return duals * weights[:, None]


def power_norm(x, p):
    largest = x.max(initial=WIDE(0.0))
    if largest == 0.0 or np.isinf(p):
        return largest
    return largest * ((x / largest) ** WIDE(p)).sum() ** (1.0 / WIDE(p))


def penalty(case, norms, strength):
    settings = case.settings
    if case.family in ("SpicyMKL", "MKL"):
        r = WIDE(settings["l1_ratio"])
        return strength * (r * norms.sum() + (1.0 - r) / 2.0 * (norms @ norms))
    if case.family == "GroupOMP":
        return strength / 2.0 * (norms @ norms)
    p = WIDE(settings.get("p", np.inf))
    return power_norm(norms, 2.0 / (1.0 + 1.0 / p)) ** 2 / 2.0


def penalty_conjugate(case, dual_norms, strength):
    """Omega* of a point inside the dual ball."""
    settings = case.settings
    r = WIDE(settings.get("l1_ratio", 0.0))
    if case.family in ("SpicyMKL", "MKL", "GroupOMP"):
        if r == 1.0:
            return WIDE(0.0)
        excess = np.maximum(dual_norms - strength * r, 0.0)
        return (excess @ excess) / (2.0 * strength * (1.0 - r))
    p = WIDE(settings.get("p", np.inf))
    q = np.inf if p == 1.0 else 2.0 / (1.0 - 1.0 / p)
    return power_norm(dual_norms, q) ** 2 / 2.0


def centered(rho, low, high):
    """The nearest point of the box with sum zero, by bisection."""
    if not (np.isfinite(low).any() or np.isfinite(high).any()):
        return rho - rho.mean()
    if rho.sum() == 0.0:
        return rho
    far = 1.0 + np.abs(rho).max()
    left = max((rho - high).min(), -far)
    right = min((rho - low).max(), far)
    for _ in range(200):
        middle = (left + right) / 2.0
        over = np.clip(rho - middle, low, high).sum() > 0.0
        left, right = (middle, right) if over else (left, middle)
    return np.clip(rho - (left + right) / 2.0, low, high)


def recompute(case, model):
    """Return a `Recomputed` for every output."""
    values, forms, intercept, sizes = terms(case, model)
    factors, grams = scales(case, model)
    kept = case.kept
    c = np.ones(len(kept), dtype=WIDE)
    if case.weights is not None:
        c = case.weights[kept].astype(WIDE)
    weights = c
    targets = rows(case) if case.regresses else signs(case, model)
    targets, shift = shifted(case, targets.astype(WIDE))
    targets, offsets = about(case, targets, c)
    effects, effect_sizes = column_effects(case, model, len(targets))
    duals = np.atleast_2d(np.asarray(model.dual_coef_)).astype(WIDE)
    square = grams[:, kept[:, None], kept]
    active = np.arange(len(square))
    if case.family == "GroupOMP":
        active = model.active_kernels_
        factors, square = factors[active], square[active]
    found, every = [], case
    for part in parts(every, len(targets)):
        case = of_part(every, part)
        c, strength, scale = summed(case, weights)
        y = targets[part]
        f = values[part].sum(axis=1) + (intercept - offsets)[part, None]
        alone = f + effects[part]
        f = alone + shift[part]
        primal = (c * loss_value(case, y, f)[:, kept]).sum()
        primal += penalty(case, np.sqrt(forms[part].sum(axis=0)), strength)
        y = y[:, kept]
        both = [
            feasible(case, *pair, c)
            for pair in zip(duals[part][:, kept], y, strict=True)
        ]
        rho, infeasible = np.stack([near for near, _ in both]), max(d for _, d in both)
        norms = dual_forms(every, rho, square, active) * factors
        lost = rounded_forms(every, rho, square) * factors
        least, norms = (np.sqrt(np.maximum(norms - d, 0.0)) for d in (lost, 0.0))
        if case.family in ("SpicyMKL", "MKL") and case.settings["l1_ratio"] == 1.0:
            shrink = strength / max(strength, norms.max(initial=WIDE(0.0)))
            infeasible = max(infeasible, float(1.0 - shrink))
            rho, norms, least = shrink * rho, shrink * norms, shrink * least
        dual = (
            -(c * loss_conjugate(case, y, -rho / c)).sum()
            - (rho * shift[part][:, kept]).sum()
        )
        dual -= penalty_conjugate(case, norms, strength)
        size = max(abs(primal), WIDE(1e-300))
        steep = penalty_conjugate(case, norms, strength) - penalty_conjugate(
            case, least, strength
        )
        gap = (primal - dual) / size
        spread = sizes[part] + np.abs(intercept - offsets)[part, None]
        spread += effect_sizes[part] + np.abs(shift[part])
        moved = np.abs(blurred(case, targets[part], f, spread))
        moved += rounded_fits(case, targets[part] + offsets[part, None])
        blur = float(((c * moved[:, kept]).sum() + steep) / size)
        truth = (float(primal * scale), float(dual * scale), float(gap))
        spread = sizes[part] + np.abs(intercept[part, None]) + effect_sizes[part]
        found.append(
            Recomputed(*truth, infeasible, blur, alone + offsets[part, None], spread)
        )
    return found


def of_part(case, part):
    """The case with the numbers that were used for some outputs."""
    numbers = {
        name: float(value[part][0] if value.size > 1 else value[0])
        for name, value in case.settings.items()
        if name in ("alpha", "C", "epsilon", "l1_ratio") and np.ndim(value) == 1
    }
    return replace(case, settings=case.settings | numbers)


def summed(case, weights):
    """Weights and strength of the summed problem, and what turns it into the mean."""
    if case.family not in ("SpicyMKL", "MKL", "GroupOMP"):
        return WIDE(case.settings["C"]) * weights, WIDE(1.0), WIDE(1.0)
    total = weights.sum()
    return weights, WIDE(case.settings["alpha"]) * total, 1.0 / total


def blurred(case, y, f, sizes):
    """Changes of losses by the rounding of values that are read off."""
    single = is_single(case)
    # Greedy models publish no gap that rounding could be added to.
    read_off = case.form == "linear" or case.family == "GroupOMP"
    # The model's values are rounded beside large products with columns.
    read_off |= case.columns is not None
    if not (read_off or case.settings["normalize"] == "center" or single):
        return np.zeros_like(f)
    eps = np.finfo(np.float32).eps if single else 1e3 * EPS
    return loss_value(case, y, f + eps * sizes) - loss_value(case, y, f)


def rounded_fits(case, y):
    """Losses of decision values that are targets but for the last digits.

    Columns may fit without an error, and leave no more than that.
    """
    if case.columns is None or not case.regresses or case.loss not in CENTERED:
        return np.zeros_like(y)
    return loss_value(case, y, y + 16.0 * EPS * np.abs(y))


def dual_forms(case, rho, square, kernels):
    """rho' K rho of some kernels; linear ones from columns, where less cancels."""
    if case.form != "linear" or is_single(case):
        return np.einsum("oi,mij,oj->m", rho, square, rho)
    X = case.X.astype(WIDE)[case.kept]
    if case.settings["normalize"] == "center":
        weights = np.ones(len(X)) if case.weights is None else case.weights[case.kept]
        X = X - weights @ X / weights.sum()
    images = [rho @ X[:, list(case.groups[m])] for m in kernels]
    return np.array([(image * image).sum() for image in images])


def rounded_forms(case, rho, square):
    """What the last digit of matrices in single precision may take from rho' K rho.

    Matrices are scaled before they are rounded, so which ones are held depends on the
    order of products; a steep penalty makes much of forms that cancel.
    """
    if not is_single(case):
        return np.zeros(len(square), dtype=WIDE)
    size = np.einsum("oi,mij,oj->m", np.abs(rho), np.abs(square), np.abs(rho))
    return np.finfo(np.float32).eps * size


def rows(case):
    """The targets of a regression, one row per output; of times, their positions."""
    if case.times is not None:
        return np.arange(len(case.y))[None]
    return case.y.T if case.y.ndim == 2 else case.y[None]


def parts(case, n_outputs):
    """The outputs of each problem: all of them where they share a selection."""
    if case.settings.get("selection") == "shared":
        return [np.arange(n_outputs)]
    return list(np.arange(n_outputs)[:, None])


def about(case, targets, c):
    """Targets of regression about zero, and the means that they were about.

    What differs by rounding only is constant (`Constant targets` of the reference).
    """
    offsets = np.zeros(len(targets), dtype=WIDE)
    alone = case.loss in CENTERED
    if not (case.settings["fit_intercept"] and case.regresses and alone):
        return targets, offsets
    shares = c / c.sum()
    for k, y in enumerate(targets):
        first = y[case.kept[0]]
        offsets[k] = first + (y[case.kept] - first) @ shares
        targets[k] = y - offsets[k]
        if np.abs(targets[k][case.kept]).max() <= 4.0 * EPS * np.abs(y).max():
            targets[k] = 0.0
    return targets, offsets


def shifted(case, targets):
    """Targets and offsets of decision values; a loss of y - f alone has its own."""
    shift = np.zeros_like(targets)
    if case.offset is not None:
        shift = shift + case.offset.T.astype(WIDE)
    if case.regresses and case.loss in CENTERED:
        # In double precision, as targets are.
        targets = (targets - shift).astype(float).astype(WIDE)
        return targets, np.zeros_like(targets)
    return targets, shift


def column_effects(case, model, n_outputs):
    """What columns without a penalty add to decision values, and its sizes."""
    if case.columns is None:
        return (np.zeros((n_outputs, len(case.y)), WIDE),) * 2
    coefs = np.atleast_2d(np.asarray(model.unpenalized_coef_, WIDE))
    columns = case.columns.astype(WIDE)
    return coefs @ columns.T, np.abs(coefs) @ np.abs(columns).T


def orthogonal(case, rho):
    """The nearest point that is orthogonal to columns without a penalty."""
    columns = case.columns[case.kept].astype(WIDE)
    columns = columns / np.abs(columns).max(axis=0)
    if case.settings["fit_intercept"]:
        columns = np.column_stack([np.ones(len(columns), WIDE), columns])
    for k, column in enumerate(columns.T):
        for _ in range(2):
            for earlier in columns.T[:k]:
                column -= (column @ earlier) / (earlier @ earlier) * earlier
        for _ in range(2):
            rho = rho - (column @ rho) / (column @ column) * column
    return rho


def signs(case, model):
    """Targets -1 and 1 of every output of a classifier."""
    classes = model.classes_
    if len(classes) == 2:
        return np.where(case.y == classes[1], 1.0, -1.0)[None]
    return np.where(case.y[None] == classes[:, None], 1.0, -1.0)


def feasible(case, rho, y, c):
    """The nearest feasible point, and how far away it was."""
    low, high = dual_box(case, y, c)
    near = np.clip(rho, low, high)
    if case.columns is not None:
        near = np.clip(orthogonal(case, near), low, high)
    elif case.settings["fit_intercept"]:
        near = centered(near, low, high)
    size = np.where(np.isfinite(high - low), high - low, np.abs(rho)).sum()
    return near, float(np.abs(near - rho).sum() / max(size, WIDE(1e-300)))
