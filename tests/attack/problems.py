"""Fit random problems, and hold every certificate against its recomputation."""

import warnings
from dataclasses import replace

import numpy as np
from attack.beside import make_beside_case
from attack.cases import make_case, make_loss_case, make_offset_case
from attack.certificate import is_single, recompute, scales
from attack.hull_problems import run_hull
from threadpoolctl import ThreadpoolController

from multikernel import exceptions
from multikernel.exceptions import ConvergenceWarning, UnsupportedProblemError

MOST_PASSES, MOST_STEPS = 10_000, 10_000_000
"""Passes over all matrices, and inner steps, that a fit of 40 samples and 12 kernels
may take: half a minute. Of 1200 problems none took more than 2800 and 970 000."""

SLACK = 1e-9
"""How far below the true gap, relative to the objective, a published one may be."""

SINGLE = 1e-5
"""The same where matrices are held in single precision."""

REFIT = 2e-3
"""Relative gap that a refit of a greedy model may keep without a warning."""

EXPECTED_WARNINGS = tuple(
    getattr(exceptions, name) for name in exceptions.__all__ if name.endswith("Warning")
)


def run_one(seed):
    """Return the findings of one problem, as pairs of a category and a sentence."""
    return judge(make_case(seed))


def run_losses(seed):
    """Return the findings of one problem of a loss beside those of the papers."""
    return judge(make_loss_case(seed))


def run_beside(seed):
    """Return the findings of one problem of `attack.beside`."""
    return judge(make_beside_case(seed))


def run_offsets(seed):
    """Return the findings of one problem with an offset: one in ten is of HKL."""
    if seed % 10 == 0:
        return run_hull(np.random.default_rng([seed, 24]))
    return judge(make_offset_case(seed))


def judge(case, inspect=None):
    """Fit a case and return what is wrong: (category, sentence) pairs."""
    found = []
    controller = ThreadpoolController()
    before = [pool["num_threads"] for pool in controller.info()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            known = {} if case.offset is None else {"offset": case.offset}
            X, y = case.inputs()[0], case.y
            model = case.estimator().fit(X, y, case.weights, **known)
        except Exception as error:
            if not (isinstance(error, UnsupportedProblemError) and is_drowned(case)):
                found.append(("exceptions", f"{type(error).__name__}: {error}"))
            model = None
    if [pool["num_threads"] for pool in controller.info()] != before:
        found.append(("leaks", f"BLAS threads were {before}"))
    warned = False
    strays = set()
    for warning in caught:
        warned |= issubclass(warning.category, ConvergenceWarning)
        if "no kernel is active for class" in str(warning.message):
            continue
        if not issubclass(warning.category, EXPECTED_WARNINGS):
            text = f"{warning.category.__name__}: {warning.message}"
            strays.add(f"{text} ({warning.filename}:{warning.lineno})")
    found += [("warnings", text) for text in sorted(strays)]
    if model is not None:
        found += overlong(model) + (inspect or inspect_model)(case, model, warned)
    return found


def overlong(model):
    """A fit that does not come to its end, by what its history counts."""
    passes = model.history_["passes"].max(initial=0.0)
    steps = model.history_["inner_steps"].max(initial=0)
    if passes <= MOST_PASSES and steps <= MOST_STEPS:
        return []
    return [("hangs", f"took {passes:.0f} passes and {steps} inner steps")]


def inspect_model(case, model, warned):
    """Compare all that a fit publishes with what it truly is."""
    names = ("objective_", "intercept_", "dual_coef_", "kernel_weights_")
    broken = [n for n in names if not np.isfinite(getattr(model, n)).all()]
    if broken:
        return [("inconsistent", f"not finite: {', '.join(broken)}")]
    if case.times is not None:
        scale = {"loss_scale": model.loss_scale_}
        case = replace(case, settings=case.settings | scale)
    # Of regressors the numbers in the units of y are those that were used.
    used = {
        name: np.ravel(getattr(model, f"{name}_"))
        for name in ("alpha", "C", "epsilon", "l1_ratio")
        if case.regresses and name in case.settings and hasattr(model, f"{name}_")
    }
    outputs = recompute(replace(case, settings=case.settings | used), model)
    first = {name: float(value[0]) for name, value in used.items()}
    case = replace(case, settings=case.settings | first)
    slack = SINGLE if is_single(case) else SLACK
    found = []
    if case.family == "GroupOMP":
        found += inspect_greedy(case, model, outputs, warned, slack)
    else:
        found += inspect_gaps(case, model, outputs, warned, slack)
    found += inspect_values(case, model, outputs)
    found += inspect_weights(case, model)
    return found


def is_drowned(case):
    """Whether greedy steps must be refused: matrices round by more than the ridge."""
    if case.family != "GroupOMP":
        return False
    factors, grams = scales(case, None)
    weights = np.ones(len(case.y)) if case.weights is None else case.weights
    ridge = case.settings["alpha"] * weights[case.kept].sum()
    return ridge < 1e-12 * (factors * np.einsum("mii->m", grams)).max()


def inspect_gaps(case, model, outputs, warned, slack):
    """Published gaps bound the true ones, and those above tol are announced."""
    gaps = np.atleast_1d(model.duality_gap_)
    objectives = np.atleast_1d(model.objective_)
    found = []
    for k, truth in enumerate(outputs):
        slack = slack + truth.blur
        if truth.gap > gaps[k] + slack:
            found.append(
                ("below", f"gap {gaps[k]:.3g} published, {truth.gap:.9g} true")
            )
        # What is proved is also what is met, so the objective may be off by the gap.
        off = abs(objectives[k] - truth.primal)
        if off > (slack + max(gaps[k] - truth.gap, 0.0)) * abs(truth.primal):
            text = f"objective {objectives[k]:.12g} published, {truth.primal:.12g} true"
            found.append(("inconsistent", text))
        if truth.infeasible > max(slack, 1e-8):
            text = f"dual point outside its domain by {truth.infeasible:.2g}"
            found.append(("infeasible", text))
    if gaps.max() > case.settings["tol"] and not warned:
        found.append(("unwarned", f"gap {gaps.max():.3g}, and no warning"))
    return found


def inspect_greedy(case, model, outputs, warned, slack):
    """The objective is the model's, and refits are what they are said to be."""
    primal = sum(truth.primal for truth in outputs)
    dual = sum(truth.dual for truth in outputs)
    size = abs(primal)
    slack = slack + sum(truth.blur for truth in outputs)
    found = []
    if abs(model.objective_ - primal) > 100 * slack * size:
        text = f"objective {model.objective_:.12g} published, {primal:.12g} true"
        found.append(("inconsistent", text))
    if primal - dual > (REFIT + slack) * size and not warned:
        found.append(("below", f"refit with a gap of {(primal - dual) / size:.3g}"))
    return found


def inspect_values(case, model, outputs):
    """What the model predicts on its training samples is what its terms say.

    Where nothing is proved, coefficients may be larger than the dual point, and what
    rounding does to them is not known.
    """
    if np.max(getattr(model, "duality_gap_", 0.0)) > 1.0:
        return []
    X = case.inputs()[0]
    classifies = hasattr(model, "decision_function")
    predict = model.decision_function if classifies else model.linear_predictor
    f = predict(X) if case.offset is None else predict(X, offset=0.0 * case.offset)
    f = f.reshape(len(case.y), -1).T
    values = np.concatenate([truth.values for truth in outputs])
    sizes = np.concatenate([truth.sizes for truth in outputs])
    # Below the smallest normal number of a matrix's precision, digits are lost.
    single = np.finfo(np.float32)
    rounding, least = (single.eps, single.tiny) if is_single(case) else (1e-12, 1e-300)
    beyond = np.abs(f - values) - rounding * sizes
    if (beyond > least).any():
        at = np.unravel_index(np.argmax(beyond), beyond.shape)
        text = f"predicts {f[at]:.12g}, its terms {values[at]:.12g}"
        return [("inconsistent", text)]
    return []


def inspect_weights(case, model):
    """Weights are non-negative and normalized; active kernels are those above zero."""
    weights = np.atleast_2d(model.kernel_weights_)
    if (weights < 0.0).any():
        return [("inconsistent", "a kernel weight is negative")]
    used = np.flatnonzero(weights.any(axis=0))
    if not np.array_equal(used, model.active_kernels_):
        text = f"weights {used.tolist()}, active {model.active_kernels_.tolist()}"
        return [("inconsistent", text)]
    p = case.settings.get("p", 1.0)
    if case.family in ("LpMKL", "SpicyMKL"):
        top = weights.max(axis=1)
        top[top == 0.0] = 1.0
        shares = weights / top[:, None]
        with np.errstate(under="ignore"):
            sums = top if np.isinf(p) else top * (shares**p).sum(axis=1) ** (1.0 / p)
        sums = sums[weights.any(axis=1)]
        if (np.abs(sums - 1.0) > 1e-9).any():
            return [("inconsistent", f"kernel weights have norm {sums}")]
    return []
