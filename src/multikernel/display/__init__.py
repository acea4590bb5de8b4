"""Pictures of fitted models, in scikit-learn's Display convention."""

from multikernel.display.contribution import ContributionDisplay
from multikernel.display.convergence import ConvergenceDisplay
from multikernel.display.explanation import ExplanationDisplay
from multikernel.display.hull import HullDisplay, HullPathDisplay
from multikernel.display.path import RegularizationPathDisplay
from multikernel.display.sparsity import SparsityPathDisplay
from multikernel.display.spectrum import CutOffDisplay, TailSpectrumDisplay
from multikernel.display.stability import StabilityDisplay
from multikernel.display.weights import KernelWeightsDisplay, VarianceSplitDisplay

__all__ = [
    "ContributionDisplay",
    "ConvergenceDisplay",
    "CutOffDisplay",
    "ExplanationDisplay",
    "HullDisplay",
    "HullPathDisplay",
    "KernelWeightsDisplay",
    "RegularizationPathDisplay",
    "SparsityPathDisplay",
    "StabilityDisplay",
    "TailSpectrumDisplay",
    "VarianceSplitDisplay",
]
