"""What to think of a fitted model: stability, intervals, importance."""

from multikernel.estimators.publish.sobol import SobolIndices
from multikernel.inspection.association import KernelTests, kernel_tests
from multikernel.inspection.deviance import deviance_split
from multikernel.inspection.importance import group_permutation_importance
from multikernel.inspection.intervals import Bootstrap, bootstrap
from multikernel.inspection.posterior import TermPosterior, term_posterior
from multikernel.inspection.sobol import sobol_indices
from multikernel.inspection.split import (
    VarianceSplit,
    contributions,
    r2_score_split,
    variance_split,
)
from multikernel.inspection.stability import Stability, stability_selection

__all__ = [
    "Bootstrap",
    "KernelTests",
    "SobolIndices",
    "Stability",
    "TermPosterior",
    "VarianceSplit",
    "bootstrap",
    "contributions",
    "deviance_split",
    "group_permutation_importance",
    "kernel_tests",
    "r2_score_split",
    "sobol_indices",
    "stability_selection",
    "term_posterior",
    "variance_split",
]
