"""What to think of a fitted model: stability, intervals, importance."""

from multikernel.inspection.importance import group_permutation_importance
from multikernel.inspection.intervals import Bootstrap, bootstrap
from multikernel.inspection.stability import Stability, stability_selection

__all__ = [
    "Bootstrap",
    "Stability",
    "bootstrap",
    "group_permutation_importance",
    "stability_selection",
]
