from . import (
    datasets as datasets,
    display as display,
    estimators as estimators,
    exceptions as exceptions,
    inspection as inspection,
    kernels as kernels,
    losses as losses,
    regularizers as regularizers,
)
from ._report.page import report as report
from .estimators import (
    FixedWeightsMKLClassifier as FixedWeightsMKLClassifier,
    FixedWeightsMKLClassifierCV as FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressor as FixedWeightsMKLRegressor,
    FixedWeightsMKLRegressorCV as FixedWeightsMKLRegressorCV,
    GroupOMPClassifier as GroupOMPClassifier,
    GroupOMPClassifierCV as GroupOMPClassifierCV,
    GroupOMPRegressor as GroupOMPRegressor,
    GroupOMPRegressorCV as GroupOMPRegressorCV,
    HKLClassifier as HKLClassifier,
    HKLClassifierCV as HKLClassifierCV,
    HKLRegressor as HKLRegressor,
    HKLRegressorCV as HKLRegressorCV,
    LocalRademacherMKLClassifier as LocalRademacherMKLClassifier,
    LocalRademacherMKLClassifierCV as LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressor as LocalRademacherMKLRegressor,
    LocalRademacherMKLRegressorCV as LocalRademacherMKLRegressorCV,
    LpMKLClassifier as LpMKLClassifier,
    LpMKLClassifierCV as LpMKLClassifierCV,
    LpMKLRegressor as LpMKLRegressor,
    LpMKLRegressorCV as LpMKLRegressorCV,
    MKLClassifier as MKLClassifier,
    MKLRegressor as MKLRegressor,
    NullAlpha as NullAlpha,
    OneClassMKL as OneClassMKL,
    ProgressBar as ProgressBar,
    SpicyMKLClassifier as SpicyMKLClassifier,
    SpicyMKLClassifierCV as SpicyMKLClassifierCV,
    SpicyMKLOrdinal as SpicyMKLOrdinal,
    SpicyMKLOrdinalCV as SpicyMKLOrdinalCV,
    SpicyMKLRegressor as SpicyMKLRegressor,
    SpicyMKLRegressorCV as SpicyMKLRegressorCV,
    SpicyMKLSurvival as SpicyMKLSurvival,
    SpicyMKLSurvivalCV as SpicyMKLSurvivalCV,
    TableEncoder as TableEncoder,
    estimate_cost as estimate_cost,
    regularization_path as regularization_path,
    stack_grams as stack_grams,
    with_samples as with_samples,
)
from .inspection.intervals import bootstrap as bootstrap
from .inspection.split import variance_split as variance_split
from .inspection.stability import stability_selection as stability_selection
from .persistence import load as load, save as save

__version__: str
