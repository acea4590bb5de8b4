"""What to think of a fitted model: stability, intervals, importance."""

from multikernel.inspection.importance import group_permutation_importance
from multikernel.inspection.intervals import Bootstrap, bootstrap
from multikernel.inspection.split import (
    VarianceSplit,
    contributions,
    r2_score_split,
    variance_split,
)
from multikernel.inspection.stability import Stability, stability_selection

__all__ = [
    "Bootstrap",
    "Stability",
    "VarianceSplit",
    "bootstrap",
    "contributions",
    "group_permutation_importance",
    "r2_score_split",
    "stability_selection",
    "variance_split",
]
