from . import (
    certificates as certificates,
    cli as cli,
    datasets as datasets,
    diagnostics as diagnostics,
    display as display,
    estimators as estimators,
    exceptions as exceptions,
    gram as gram,
    inspection as inspection,
    kernels as kernels,
    linalg as linalg,
    losses as losses,
    machines as machines,
    persistence as persistence,
    problem as problem,
    regularizers as regularizers,
    solvers as solvers,
    testing as testing,
)
from ._report import report as report
from .display.contribution import ContributionDisplay as ContributionDisplay
from .display.convergence import ConvergenceDisplay as ConvergenceDisplay
from .display.explanation import ExplanationDisplay as ExplanationDisplay
from .display.hull import HullDisplay as HullDisplay, HullPathDisplay as HullPathDisplay
from .display.path import RegularizationPathDisplay as RegularizationPathDisplay
from .display.sparsity import SparsityPathDisplay as SparsityPathDisplay
from .display.spectrum import (
    CutOffDisplay as CutOffDisplay,
    TailSpectrumDisplay as TailSpectrumDisplay,
)
from .display.stability import StabilityDisplay as StabilityDisplay
from .display.weights import (
    KernelWeightsDisplay as KernelWeightsDisplay,
    VarianceSplitDisplay as VarianceSplitDisplay,
)
from .estimators import (
    FitCost as FitCost,
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
    NamedGrams as NamedGrams,
    NamedPath as NamedPath,
    NullAlpha as NullAlpha,
    OneClassMKL as OneClassMKL,
    ProgressBar as ProgressBar,
    RegularizationPath as RegularizationPath,
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
    variance_shares as variance_shares,
    with_samples as with_samples,
)
from .inspection.importance import (
    group_permutation_importance as group_permutation_importance,
)
from .inspection.intervals import bootstrap as bootstrap
from .inspection.nested import nested_cross_validate as nested_cross_validate
from .inspection.split import (
    r2_score_split as r2_score_split,
    variance_split as variance_split,
)
from .inspection.stability import stability_selection as stability_selection
from .persistence import load as load, save as save

__version__: str
