"""Multiple kernel learning with certified optimality."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multikernel._public import *

__version__ = "0.1.0.dev0"

__all__ = [
    "AlignmentMKLClassifier",
    "AlignmentMKLRegressor",
    "ContributionDisplay",
    "ConvergenceDisplay",
    "CutOffDisplay",
    "EasyMKLClassifier",
    "ExplanationDisplay",
    "GroupOMPClassifier",
    "GroupOMPClassifierCV",
    "GroupOMPRegressor",
    "GroupOMPRegressorCV",
    "HKLClassifier",
    "HKLClassifierCV",
    "HKLRegressor",
    "HKLRegressorCV",
    "HullDisplay",
    "HullPathDisplay",
    "KernelWeightsDisplay",
    "LocalRademacherMKLClassifier",
    "LocalRademacherMKLClassifierCV",
    "LocalRademacherMKLRegressor",
    "LocalRademacherMKLRegressorCV",
    "LpMKLClassifier",
    "LpMKLClassifierCV",
    "LpMKLRegressor",
    "LpMKLRegressorCV",
    "MKLClassifier",
    "MKLRegressor",
    "OneClassMKL",
    "ProgressBar",
    "RegularizationPathDisplay",
    "SingleKernelClassifier",
    "SingleKernelRegressor",
    "SparsityPathDisplay",
    "SpicyMKLClassifier",
    "SpicyMKLClassifierCV",
    "SpicyMKLRegressor",
    "SpicyMKLRegressorCV",
    "StabilityDisplay",
    "TailSpectrumDisplay",
    "UniformMKLClassifier",
    "UniformMKLClassifierCV",
    "UniformMKLRegressor",
    "UniformMKLRegressorCV",
    "bootstrap",
    "group_permutation_importance",
    "load",
    "map_grams",
    "regularization_path",
    "report",
    "save",
    "stability_selection",
    "stack_grams",
    "variance_shares",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for.

    All libraries together take a second or more; the command line speaks before.
    """
    if name in __all__:
        found = getattr(import_module("multikernel._public"), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'multikernel' has no attribute {name!r}")
    else:
        try:
            found = import_module(f"multikernel.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"multikernel.{name}":
                raise  # a library that a module needs is not there
            raise AttributeError(
                f"module 'multikernel' has no attribute {name!r}"
            ) from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
