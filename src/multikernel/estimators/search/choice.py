"""Choice of a candidate in a search, warnings about it, and early stopping of paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.estimators.method import Candidates, Data
from multikernel.estimators.parameters import SIMPLEST
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.folds import Folds
from multikernel.estimators.search.scores import Scores, round_digits
from multikernel.exceptions import SearchWarning, warn_user


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """The scores of all candidates of a search, before one of them is chosen."""

    folds: Folds  # of all samples
    candidates: Candidates  # with the tolerance of the model on all samples
    all_samples: Data
    scores: Scores
    results: dict[str, Any]  # the attribute ``cv_results_``
    n_rows: int  # number of samples on which the candidates are scored

    @property
    def owner(self) -> str:
        """The name of the estimator in messages."""
        return type(self.folds.model).__name__

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the estimator."""
        return dict(self.folds.model.get_params(deep=False))


def best_candidate(results: Mapping[str, Array]) -> int:
    """Return the index of the candidate with the best mean score in `cv_results`."""
    # Of equal scores, choose a candidate with active kernels, then one with the lowest
    # mean loss, then the first, which is the simplest.
    mean = round_digits(results["mean_test_score"])
    ties = np.flatnonzero(mean == np.nanmax(mean))
    with_kernels = ties[results["mean_n_active"][ties] > 0.0]
    ties = with_kernels if with_kernels.size else ties
    losses = round_digits(results["mean_test_loss"][ties])
    return int(ties[np.argmin(np.where(np.isnan(losses), np.inf, losses))])


def simplest_candidate(
    results: Mapping[str, Array], fold_scores: Array, best: int
) -> int:
    """Return the index of the simplest candidate within a standard error of `best`."""
    # `fold_scores` has the shape (n_folds, n_candidates).
    n_folds = int(np.count_nonzero(np.isfinite(fold_scores[:, best])))
    if n_folds < 2:
        return best
    # This is the standard error of the best candidate's mean over the folds. The
    # divisor is n_folds - 1, because the standard deviation has the divisor n_folds.
    error = np.nanstd(fold_scores[:, best]) / np.sqrt(n_folds - 1)
    min_score = round_digits(results["mean_test_score"][[best]] - error)
    close = np.flatnonzero(round_digits(results["mean_test_score"]) >= min_score)
    # The simplest candidate has the fewest kernels on average; of several, the first.
    return int(close[np.argmin(round_digits(results["mean_n_active"][close]))])


def as_text(params: Mapping[str, float]) -> str:
    """Return parameters as text for messages, such as "C=0.5, p=2"."""
    return ", ".join(f"{name}={value:.3g}" for name, value in params.items())


def grid_end(
    results: Mapping[str, Any], best: int, name: str, grid: Array
) -> str | None:
    """Return "smallest" or "largest" if `best` is at that end of a grid, else None."""
    params = results["params"]
    value = params[best][name]
    if grid.size < 3 or value not in (grid[0], grid[-1]):
        return None
    # The neighbor has the next value of the grid, and all other parameters of `best`.
    neighbor = params[best] | {name: grid[1 if value == grid[0] else -2]}
    is_neighbor = [candidate == neighbor for candidate in params]
    mean = round_digits(results["mean_test_score"])
    # A wider grid can help only if the end is better than its neighbor. The score of a
    # skipped neighbor is NaN, so the result is None.
    if not (mean[best] > mean[is_neighbor]).all():
        return None
    return "smallest" if value == grid.min() else "largest"


def grid_advice(parameters: Mapping[str, object], name: str, end: str) -> str:
    """Return advice for messages: which argument extends the grid of `name`."""
    # `end` is the end of the grid to extend, "smallest" or "largest".
    grid = f"{name}s"
    if grid not in parameters:
        return f"a larger {name}"
    if end == "smallest" and parameters[grid] is None and "n_alphas" in parameters:
        return f"a smaller alpha_min_ratio, or smaller values in {grid}"
    return f"{'smaller' if end == 'smallest' else 'larger'} values in {grid}"


def no_kernel_reason(
    parameters: Mapping[str, object], names: Sequence[str], *, has_others: bool
) -> str:
    """Return why a choice has no active kernel, and advice, as the end of a message."""
    # `names` are the chosen parameters, and `has_others` is whether other candidates
    # have active kernels.
    if has_others:
        reason = " by one standard error" if parameters["refit"] == SIMPLEST else ""
        return f"no other model scored better{reason}: pass other kernels or columns."
    # Only alpha alone is a penalty that can exclude all kernels.
    is_penalty = list(names) == ["alpha"]
    advice = f"pass {grid_advice(parameters, 'alpha', 'smallest')}, or " * is_penalty
    return f"no candidate has any: {advice}check that y and the kernels vary."


def constant_prediction(scores: Scores, best: Any, samples: Samples) -> str:
    """Return the prediction that all validation samples get, as text; "" if none."""
    if samples.classes is None:
        return ""
    # A mask says which classes the candidate predicts for any sample of a fold. For
    # several labels, it says first which are present, then which are absent, for any.
    masks = [fold[best] for fold in scores.predicted if best in fold]
    predicted = np.any(masks, axis=0)
    if samples.several:
        # Labels with one of the two entries have the same prediction for all samples.
        constant = np.flatnonzero(predicted.reshape(2, -1).sum(axis=0) == 1)
        names = [samples.output_names[k] for k in constant]
        return f"the same for label {listed(names)}" if names else ""
    if np.count_nonzero(predicted) != 1:
        return ""
    return f"class {samples.classes[predicted].tolist()[0]!r}"


def class_advice(
    parameters: Mapping[str, object], samples: Samples, scores: Scores
) -> str:
    """Return advice for a search whose model predicts one class for all samples."""
    advice = []
    # Scores such as "roc_auc" require a validation set with samples of all classes.
    can_rank = not scores.lacks_class.all()
    if can_rank and parameters.get("scoring", "") in (None, "accuracy"):
        is_multiclass = not samples.several and len(samples.output_names) > 1
        metric = "balanced_accuracy" if is_multiclass else "roc_auc"
        advice.append(f"pass scoring={metric!r}")
    if parameters.get("class_weight", "") is None and not samples.several:
        advice.append("pass class_weight='balanced'")
    return (
        ", or ".join(advice) or "use decision_function, whose values rank the samples"
    )


def warn_unscored(owner: str, scores: Scores) -> None:
    """Warn about folds without scores because their validation set lacks a class."""
    # `scores.scores` has shape (n_folds, n_candidates, n_choices), nan without a score.
    unscored = scores.lacks_class & np.isnan(scores.scores).all(axis=(1, 2))
    folds = np.flatnonzero(unscored).tolist()
    if folds:
        warn_user(
            f"{owner}: mean scores ignore fold {listed(folds)} of cv, because scoring "
            "requires all classes and the validation set lacks one: use fewer or "
            "stratified folds.",
            SearchWarning,
        )


def warn_choice(fit: SearchOutcome, best: int, prediction: str) -> None:
    """Warn if a choice has no kernel, predicts one class, or is at an end of a grid."""
    # The choice is the candidate `best`, an index into `results`. `prediction` is the
    # result of `constant_prediction`: a text that names the only prediction for all
    # validation samples, or "".
    owner, parameters, results = fit.owner, fit.parameters, fit.results
    params = results["params"][best]
    if results["mean_n_active"][best] == 0.0:
        has_others = bool((results["mean_n_active"] > 0.0).any())
        warn_user(
            f"{owner} chose {as_text(params)}, a model without active kernels, because "
            f"{no_kernel_reason(parameters, list(params), has_others=has_others)}",
            SearchWarning,
        )
        return
    if prediction:
        advice = class_advice(parameters, fit.folds.data.samples, fit.scores)
        warn_user(
            f"{owner} chose {as_text(params)}, a model that predicts {prediction} for "
            f"all validation samples: {advice}.",
            SearchWarning,
        )
    for name, grid in fit.candidates.open_grids(params).items():
        end = grid_end(results, best, name, grid)
        if end is not None:
            warn_user(
                f"{owner} chose {as_text({name: params[name]})}, the {end} value in "
                "the grid; a wider grid may be better: pass "
                f"{grid_advice(parameters, name, end)}.",
                SearchWarning,
            )


# On default grids, a chain ends after alpha has fallen by a factor of 12 (32 for HKL),
# or C has risen by a factor of 16, without a better score.
PATIENCE = 0.3
"""A chain of candidates ends after this share of it without a better score."""


# With twice this value, a search for 100 targets chose the same strengths, and took 1.2
# times as long.
TARGET_PATIENCE = 0.15
"""The value in place of `PATIENCE` if each target chooses its own strength."""


# The best alpha is proportional to n_rows**-RATE. On four tables of 800 to 12 800 rows,
# the measured rate was 0.54 to 0.67; in theory it is 1/2 for the smoothest kernels and
# up to 1 for rough kernels.
RATE = 0.6
"""Rate at which the best ``alpha`` falls with the number of rows."""


@dataclass(frozen=True, eq=False)
class StrengthCandidates(Candidates):
    """Candidates of a search over the strength ``alpha`` of the penalty."""

    alphas: Array  # descending

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the strengths as "alpha"; `max_kernels` is ignored."""
        return {"alpha": self.alphas}

    def scaled_to_share(self, share: float) -> Self:
        """Return candidates whose strengths are adapted to a share of the samples."""
        return replace(self, alphas=self.alphas * share**-RATE)

    def recipes(self, data: Data) -> list[Any]:
        """Return the recipe of the method at each strength."""
        methods = [replace(self.method, alpha=alpha) for alpha in self.alphas.tolist()]
        return [method.recipe(data) for method in methods]


def has_peaked(means: Array, chain: Sequence[int], patience: float = PATIENCE) -> bool:
    """Return whether the mean scores of a chain of candidates no longer improve."""
    # `means`, for one choice, have the shape (n_candidates,) or (n_candidates, 1).
    chain_means = means[np.asarray(chain)]
    chain_means = chain_means[np.isfinite(chain_means)]
    if chain_means.size < 3:
        return False
    best = int(np.argmax(chain_means))
    # Scores no longer improve if the number of scores after the best one is at least a
    # share `patience` of the chain. The best score must exceed the first, because
    # models at the start of a chain may all be constant and have equal scores. The best
    # is the first of equal scores, so scores that stop changing, as on separated data,
    # also count as no longer improving.
    is_stale = chain_means.size - 1 - best >= max(2, round(patience * len(chain)))
    return bool(is_stale and chain_means[best] > chain_means[0])
