from .cost import FitCost as FitCost, estimate_cost as estimate_cost
from .fixed_weights.cv import (
    FixedWeightsMKLClassifierCV as FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressorCV as FixedWeightsMKLRegressorCV,
)
from .fixed_weights.estimators import (
    FixedWeightsMKLClassifier as FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor as FixedWeightsMKLRegressor,
)
from .group_omp.cv import (
    GroupOMPClassifierCV as GroupOMPClassifierCV,
    GroupOMPRegressorCV as GroupOMPRegressorCV,
)
from .group_omp.estimators import (
    GroupOMPClassifier as GroupOMPClassifier,
    GroupOMPRegressor as GroupOMPRegressor,
)
from .hkl.cv import HKLClassifierCV as HKLClassifierCV, HKLRegressorCV as HKLRegressorCV
from .hkl.estimators import HKLClassifier as HKLClassifier, HKLRegressor as HKLRegressor
from .local_rademacher.cv import (
    LocalRademacherMKLClassifierCV as LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressorCV as LocalRademacherMKLRegressorCV,
)
from .local_rademacher.estimators import (
    LocalRademacherMKLClassifier as LocalRademacherMKLClassifier,
    LocalRademacherMKLRegressor as LocalRademacherMKLRegressor,
)
from .lp.cv import (
    LpMKLClassifierCV as LpMKLClassifierCV,
    LpMKLRegressorCV as LpMKLRegressorCV,
)
from .lp.estimators import (
    LpMKLClassifier as LpMKLClassifier,
    LpMKLRegressor as LpMKLRegressor,
)
from .new_samples import with_samples as with_samples
from .one_class import OneClassMKL as OneClassMKL
from .ordinal.estimators import (
    SpicyMKLOrdinal as SpicyMKLOrdinal,
    SpicyMKLOrdinalCV as SpicyMKLOrdinalCV,
)
from .own import MKLClassifier as MKLClassifier, MKLRegressor as MKLRegressor
from .progress import ProgressBar as ProgressBar
from .publish.fitted import variance_shares as variance_shares
from .read.precomputed import (
    NamedGrams as NamedGrams,
    stack_grams as stack_grams,
)
from .search.path import (
    NamedPath as NamedPath,
    RegularizationPath as RegularizationPath,
    regularization_path as regularization_path,
)
from .spicy.cv import (
    SpicyMKLClassifierCV as SpicyMKLClassifierCV,
    SpicyMKLRegressorCV as SpicyMKLRegressorCV,
)
from .spicy.estimators import (
    SpicyMKLClassifier as SpicyMKLClassifier,
    SpicyMKLRegressor as SpicyMKLRegressor,
)
from .spicy.null_alpha import NullAlpha as NullAlpha
from .survival.cv import SpicyMKLSurvivalCV as SpicyMKLSurvivalCV
from .survival.estimators import SpicyMKLSurvival as SpicyMKLSurvival
from .table_encoder import TableEncoder as TableEncoder
