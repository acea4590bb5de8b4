from .association import kernel_tests as kernel_tests
from .deviance import deviance_split as deviance_split
from .importance import group_permutation_importance as group_permutation_importance
from .intervals import Bootstrap as Bootstrap, bootstrap as bootstrap
from .nested import (
    NestedScores as NestedScores,
    nested_cross_validate as nested_cross_validate,
)
from .permutations import KernelTests as KernelTests
from .posterior import TermPosterior as TermPosterior, term_posterior as term_posterior
from .scaled import (
    ScaledIntervals as ScaledIntervals,
    scaled_intervals as scaled_intervals,
)
from .shapley import ShapleyValues as ShapleyValues, shapley_values as shapley_values
from .sobol import SobolIndices as SobolIndices, sobol_indices as sobol_indices
from .split import VarianceSplit as VarianceSplit, variance_split as variance_split
from .stability import (
    Stability as Stability,
    stability_selection as stability_selection,
)
from .terms import contributions as contributions
