"""scikit-learn estimators; to add one, write a file and a line here."""

from multikernel.estimators.base import BaseMKL
from multikernel.estimators.cost import FitCost, estimate_cost
from multikernel.estimators.fixed_weights.cv import (
    FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressorCV,
)
from multikernel.estimators.fixed_weights.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
)
from multikernel.estimators.gram_repair import GramRepair
from multikernel.estimators.group_omp.cv import (
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
)
from multikernel.estimators.group_omp.estimators import (
    GroupOMPClassifier,
    GroupOMPRegressor,
)
from multikernel.estimators.hkl.cv import HKLClassifierCV, HKLRegressorCV
from multikernel.estimators.hkl.estimators import HKLClassifier, HKLRegressor
from multikernel.estimators.local_rademacher.cv import (
    LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressorCV,
)
from multikernel.estimators.local_rademacher.estimators import (
    LocalRademacherMKLClassifier,
    LocalRademacherMKLRegressor,
)
from multikernel.estimators.lp.cv import LpMKLClassifierCV, LpMKLRegressorCV
from multikernel.estimators.lp.estimators import LpMKLClassifier, LpMKLRegressor
from multikernel.estimators.new_samples import with_samples
from multikernel.estimators.one_class import OneClassMKL
from multikernel.estimators.ordinal.base import OrdinalMKL
from multikernel.estimators.ordinal.estimators import (
    SpicyMKLOrdinal,
    SpicyMKLOrdinalCV,
)
from multikernel.estimators.own import MKLClassifier, MKLRegressor
from multikernel.estimators.progress import ProgressBar
from multikernel.estimators.publish.fitted import variance_shares
from multikernel.estimators.read.named_grams import NamedGrams
from multikernel.estimators.read.precomputed import map_grams, stack_grams
from multikernel.estimators.search.path import (
    NamedPath,
    RegularizationPath,
    regularization_path,
)
from multikernel.estimators.spicy.cv import SpicyMKLClassifierCV, SpicyMKLRegressorCV
from multikernel.estimators.spicy.estimators import (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
)
from multikernel.estimators.spicy.null_alpha import NullAlpha
from multikernel.estimators.survival.base import SurvivalMKL
from multikernel.estimators.survival.cv import SpicyMKLSurvivalCV
from multikernel.estimators.survival.estimators import SpicyMKLSurvival
from multikernel.estimators.table_encoder import TableEncoder

__all__ = [
    "FitCost",
    "FixedWeightsMKLClassifier",
    "FixedWeightsMKLClassifierCV",
    "FixedWeightsMKLRegressor",
    "FixedWeightsMKLRegressorCV",
    "GramRepair",
    "GroupOMPClassifier",
    "GroupOMPClassifierCV",
    "GroupOMPRegressor",
    "GroupOMPRegressorCV",
    "HKLClassifier",
    "HKLClassifierCV",
    "HKLRegressor",
    "HKLRegressorCV",
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
    "NamedGrams",
    "NamedPath",
    "NullAlpha",
    "OneClassMKL",
    "ProgressBar",
    "RegularizationPath",
    "SpicyMKLClassifier",
    "SpicyMKLClassifierCV",
    "SpicyMKLOrdinal",
    "SpicyMKLOrdinalCV",
    "SpicyMKLRegressor",
    "SpicyMKLRegressorCV",
    "SpicyMKLSurvival",
    "SpicyMKLSurvivalCV",
    "TableEncoder",
    "estimate_cost",
    "map_grams",
    "regularization_path",
    "stack_grams",
    "variance_shares",
    "with_samples",
]

ESTIMATORS: tuple[type[BaseMKL], ...] = tuple(
    found
    for found in map(globals().get, __all__)
    if isinstance(found, type)
    and issubclass(found, BaseMKL)
    and not issubclass(found, SurvivalMKL | OrdinalMKL)
)
"""Every multiple kernel model that is for targets of any kind, or any classes: times to
an event and ordered classes have tests of their own."""
