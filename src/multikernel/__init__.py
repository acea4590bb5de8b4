"""Multiple kernel learning with certified optimality."""

from multikernel.display import (
    ConvergenceDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
    SparsityPathDisplay,
)
from multikernel.estimators import (
    GroupOMPClassifier,
    GroupOMPClassifierCV,
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressor,
    LpMKLRegressorCV,
    MKLClassifier,
    MKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    UniformMKLClassifier,
    UniformMKLClassifierCV,
    UniformMKLRegressor,
    UniformMKLRegressorCV,
    regularization_path,
    stack_grams,
)
from multikernel.persistence import load, save

__version__ = "0.1.0.dev0"

__all__ = [
    "ConvergenceDisplay",
    "GroupOMPClassifier",
    "GroupOMPClassifierCV",
    "GroupOMPRegressor",
    "GroupOMPRegressorCV",
    "KernelWeightsDisplay",
    "LpMKLClassifier",
    "LpMKLClassifierCV",
    "LpMKLRegressor",
    "LpMKLRegressorCV",
    "MKLClassifier",
    "MKLRegressor",
    "RegularizationPathDisplay",
    "SparsityPathDisplay",
    "SpicyMKLClassifier",
    "SpicyMKLClassifierCV",
    "SpicyMKLRegressor",
    "SpicyMKLRegressorCV",
    "UniformMKLClassifier",
    "UniformMKLClassifierCV",
    "UniformMKLRegressor",
    "UniformMKLRegressorCV",
    "load",
    "regularization_path",
    "save",
    "stack_grams",
]
