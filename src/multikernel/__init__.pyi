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
from .estimators.cost import FitCost as FitCost, estimate_cost as estimate_cost
from .estimators.fixed_weights.cv import (
    FixedWeightsMKLClassifierCV as FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressorCV as FixedWeightsMKLRegressorCV,
)
from .estimators.fixed_weights.estimators import (
    FixedWeightsMKLClassifier as FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor as FixedWeightsMKLRegressor,
)
from .estimators.gram_repair import GramRepair as GramRepair
from .estimators.group_omp.cv import (
    GroupOMPClassifierCV as GroupOMPClassifierCV,
    GroupOMPRegressorCV as GroupOMPRegressorCV,
)
from .estimators.group_omp.estimators import (
    GroupOMPClassifier as GroupOMPClassifier,
    GroupOMPRegressor as GroupOMPRegressor,
)
from .estimators.hkl.cv import (
    HKLClassifierCV as HKLClassifierCV,
    HKLRegressorCV as HKLRegressorCV,
)
from .estimators.hkl.estimators import (
    HKLClassifier as HKLClassifier,
    HKLRegressor as HKLRegressor,
)
from .estimators.local_rademacher.cv import (
    LocalRademacherMKLClassifierCV as LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressorCV as LocalRademacherMKLRegressorCV,
)
from .estimators.local_rademacher.estimators import (
    LocalRademacherMKLClassifier as LocalRademacherMKLClassifier,
    LocalRademacherMKLRegressor as LocalRademacherMKLRegressor,
)
from .estimators.lp.cv import (
    LpMKLClassifierCV as LpMKLClassifierCV,
    LpMKLRegressorCV as LpMKLRegressorCV,
)
from .estimators.lp.estimators import (
    LpMKLClassifier as LpMKLClassifier,
    LpMKLRegressor as LpMKLRegressor,
)
from .estimators.new_samples import with_samples as with_samples
from .estimators.one_class import OneClassMKL as OneClassMKL
from .estimators.ordinal.estimators import (
    SpicyMKLOrdinal as SpicyMKLOrdinal,
    SpicyMKLOrdinalCV as SpicyMKLOrdinalCV,
)
from .estimators.own import MKLClassifier as MKLClassifier, MKLRegressor as MKLRegressor
from .estimators.progress import ProgressBar as ProgressBar
from .estimators.publish.fitted import variance_shares as variance_shares
from .estimators.read.named_grams import NamedGrams as NamedGrams
from .estimators.read.precomputed import (
    map_grams as map_grams,
    stack_grams as stack_grams,
)
from .estimators.search.path import (
    NamedPath as NamedPath,
    RegularizationPath as RegularizationPath,
    regularization_path as regularization_path,
)
from .estimators.spicy.cv import (
    SpicyMKLClassifierCV as SpicyMKLClassifierCV,
    SpicyMKLRegressorCV as SpicyMKLRegressorCV,
)
from .estimators.spicy.estimators import (
    SpicyMKLClassifier as SpicyMKLClassifier,
    SpicyMKLRegressor as SpicyMKLRegressor,
)
from .estimators.spicy.null_alpha import NullAlpha as NullAlpha
from .estimators.survival.cv import SpicyMKLSurvivalCV as SpicyMKLSurvivalCV
from .estimators.survival.estimators import SpicyMKLSurvival as SpicyMKLSurvival
from .estimators.table_encoder import TableEncoder as TableEncoder
from .inspection.importance import (
    group_permutation_importance as group_permutation_importance,
)
from .inspection.intervals import bootstrap as bootstrap
from .inspection.split import (
    r2_score_split as r2_score_split,
    variance_split as variance_split,
)
from .inspection.stability import stability_selection as stability_selection
from .persistence import load as load, save as save

__version__: str
