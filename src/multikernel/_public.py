"""Where the names of the package come from."""

from multikernel import display, estimators
from multikernel._report import report
from multikernel.display import *
from multikernel.estimators import *
from multikernel.inspection import (
    bootstrap,
    group_permutation_importance,
    r2_score_split,
    stability_selection,
    variance_split,
)
from multikernel.persistence import load, save

__all__ = [
    "bootstrap",
    "group_permutation_importance",
    "load",
    "r2_score_split",
    "report",
    "save",
    "stability_selection",
    "variance_split",
]
__all__ += display.__all__
__all__ += estimators.__all__
