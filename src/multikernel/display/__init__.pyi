from .contribution import ContributionDisplay as ContributionDisplay
from .convergence import ConvergenceDisplay as ConvergenceDisplay
from .explanation import ExplanationDisplay as ExplanationDisplay
from .heat_map import HeatMapDisplay as HeatMapDisplay
from .hull import HullDisplay as HullDisplay
from .path import RegularizationPathDisplay as RegularizationPathDisplay
from .sparsity import SparsityPathDisplay as SparsityPathDisplay
from .stability import StabilityDisplay as StabilityDisplay
from .weights import (
    KernelWeightsDisplay as KernelWeightsDisplay,
    VarianceSplitDisplay as VarianceSplitDisplay,
)
