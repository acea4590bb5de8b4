"""scikit-learn estimators; to add one, write a file and a line here."""

from sklearn.base import BaseEstimator

from multikernel.estimators._alpha_path import NamedPath, regularization_path
from multikernel.estimators._generic import MKLClassifier, MKLRegressor
from multikernel.estimators._group_omp import GroupOMPClassifier, GroupOMPRegressor
from multikernel.estimators._group_omp_cv import (
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
)
from multikernel.estimators._hkl import HKLClassifier, HKLRegressor
from multikernel.estimators._hkl_cv import HKLClassifierCV, HKLRegressorCV
from multikernel.estimators._local_rademacher import (
    LocalRademacherMKLClassifier,
    LocalRademacherMKLRegressor,
)
from multikernel.estimators._local_rademacher_cv import (
    LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressorCV,
)
from multikernel.estimators._lp_norm import LpMKLClassifier, LpMKLRegressor
from multikernel.estimators._lp_norm_cv import LpMKLClassifierCV, LpMKLRegressorCV
from multikernel.estimators._path import RegularizationPath
from multikernel.estimators._precomputed import stack_grams
from multikernel.estimators._spicy import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.estimators._spicy_cv import SpicyMKLClassifierCV, SpicyMKLRegressorCV
from multikernel.estimators._uniform import UniformMKLClassifier, UniformMKLRegressor
from multikernel.estimators._uniform_cv import (
    UniformMKLClassifierCV,
    UniformMKLRegressorCV,
)

ESTIMATORS: tuple[type[BaseEstimator], ...] = (
    GroupOMPClassifier,
    GroupOMPClassifierCV,
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    HKLClassifier,
    HKLClassifierCV,
    HKLRegressor,
    HKLRegressorCV,
    LocalRademacherMKLClassifier,
    LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressor,
    LocalRademacherMKLRegressorCV,
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
)
"""Every estimator, read by the conformance tests."""

__all__ = [
    "ESTIMATORS",
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
    "NamedPath",
    "RegularizationPath",
    "SpicyMKLClassifier",
    "SpicyMKLClassifierCV",
    "SpicyMKLRegressor",
    "SpicyMKLRegressorCV",
    "UniformMKLClassifier",
    "UniformMKLClassifierCV",
    "UniformMKLRegressor",
    "UniformMKLRegressorCV",
    "regularization_path",
    "stack_grams",
]
