"""Sparse learning: a mean loss with a sum of block norms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from multikernel._validation import (
    POSITIVE,
    UNIT_INTERVAL,
    AnyOf,
    Check,
    InstanceOf,
    OneOf,
)
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.method import GramMethod
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Training
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.scale import JOINT_CLASS_ALPHA, target_scale
from multikernel.estimators.spicy.null_alpha import (
    FEW_PERMUTATIONS,
    NullAlpha,
    why_not_permuted,
)
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.gram.choice import only_scales_kernels
from multikernel.linalg import EPS
from multikernel.regularizers import BlockElasticNet, BlockL1, BlockRegularizer
from multikernel.solvers import SpicyMKL

# The default alphas suit hundreds of samples. On 20 000 samples R^2 was 0.73 with them,
# and 0.78 with the best of five alphas.
MANY_SAMPLES = 10_000
"""Number of samples from which a fit warns that it uses the default alpha."""

SPARSE_CHECKS: Mapping[str, Check] = {"l1_ratio": UNIT_INTERVAL}
AUTO_CHECKS: Mapping[str, Check] = {"alpha": AnyOf((OneOf(("auto",)), POSITIVE))}
NULL_CHECKS: Mapping[str, Check] = {
    "alpha": AnyOf(
        (OneOf(("auto", "null")), POSITIVE, InstanceOf(NullAlpha, "a NullAlpha"))
    ),
}


@dataclass(frozen=True, eq=False)
class SparseMethod(GramMethod):
    """A method that minimizes a mean loss plus block norms and their squares."""

    alpha: float | NullAlpha  # a rule computes alpha from the data
    l1_ratio: float
    tol: float
    max_iter: int
    # Whether alpha is the default; `recipe` then chooses it by the data.
    by_default: bool = False

    def recipe(self, data: Training) -> Recipe:
        """Return the recipe; warn if its default alpha may be too large."""
        samples, owner = data.samples, self.source.owner
        n_samples = len(samples.table.y)
        if self.by_default and n_samples >= MANY_SAMPLES:
            warn_user(
                f"{owner} fits {n_samples} samples with its default alpha. For so many "
                "samples a smaller alpha often predicts better: search for it with "
                f"{owner}CV (on the command line --cv 5).",
                SearchWarning,
            )
        scale = target_scale(owner, samples, self.loss.unit)
        losses, params = self.loss.at_scale(scale)
        alpha = self.at_strength_of(data).alpha
        assert not isinstance(alpha, NullAlpha)
        r, alphas = self.l1_ratio, scale.scaled("alpha", alpha, scale.degree - 1)
        # The penalty is alpha (r |f| + (1 - r) |f|^2 / (2 s)), with the deviation s of
        # the targets, so r has the same effect for targets of any scale. This is an
        # elastic net of strength alpha * factor, in which |f| has the share r / factor.
        # For large s this share is rounded to one, so the share of |f|^2 is computed
        # by itself.
        factor = r + (1.0 - r) / scale.deviations
        alphas, ratios = alphas * factor, r / factor
        shares = (1.0 - r) / scale.deviations / factor
        solver = SpicyMKL(tol=self.tol, max_iter=self.max_iter)
        total = samples.total_weight
        params["alpha"] = scale.as_attribute(alphas)
        if r != 1.0:
            params["l1_ratio"] = scale.as_attribute(ratios)
        penalties: list[BlockRegularizer] = [
            BlockElasticNet(alpha, min(ratio, 1.0 - EPS), share)
            if share
            else BlockL1(alpha)
            for alpha, ratio, share in zip(alphas * total, ratios, shares, strict=True)
        ]
        return Recipe(
            losses, penalties, solver, objective_scale=1.0 / total, params=params
        )

    def at_strength_of(self, data: Training) -> Self:
        """Return the method with the alpha that it uses for `data`, as a number."""
        loss, min_alpha, alpha = self.loss.unit, 0.0, self.alpha
        if self.by_default and not isinstance(alpha, NullAlpha):
            # With many interactions, the usual default would select many by chance.
            if data.kernels.many_pairs and why_not_permuted(data, loss) is None:
                min_alpha, alpha = alpha, NullAlpha(n_permutations=FEW_PERMUTATIONS)
            elif data.kernels.all_columns and data.samples.classes is not None:
                alpha = JOINT_CLASS_ALPHA
        if isinstance(alpha, NullAlpha):
            # The rule gives the strength of the norms, which is l1_ratio * alpha.
            alpha = max(alpha.on(data, loss) / (self.l1_ratio or 1.0), min_alpha)
        return replace(self, alpha=alpha, by_default=False)

    def with_tol(self, tol: float) -> Self:
        """Return the method with another tolerance."""
        return replace(self, tol=tol)

    def with_unit_strength(self) -> "SparseMethod":
        """Return the method with a strength of one."""
        return replace(self, alpha=1.0)


def sparse_method(
    model: BaseMKL,
    alpha: float | str | NullAlpha,
    default: float = 1.0,
    **options: bool,
) -> SparseMethod:
    """Return the method of an estimator; if alpha is "auto", it becomes `default`."""
    # The other string, "null", means NullAlpha(), which permutes single samples, so
    # copies are not merged. Default kernels have interactions if `paired`.
    by_default = isinstance(alpha, str) and alpha == "auto"
    if by_default:
        alpha = default
    elif isinstance(alpha, str):
        alpha = NullAlpha()
    options["merges_copies"] = not isinstance(alpha, NullAlpha)
    paired = only_scales_kernels(model.normalize)
    source = gram_source(model, paired=paired, takes_columns=True, **options)
    l1_ratio, tol = float(model.l1_ratio), float(model.tol)
    return SparseMethod(
        source, loss_of(model), alpha, l1_ratio, tol, model.max_iter, by_default
    )
