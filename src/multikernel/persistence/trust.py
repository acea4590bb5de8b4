"""Types of a model file that `load` trusts by default."""

import importlib
from collections.abc import Collection

# Compiled code of other classes does not check array sizes, so altered arrays could
# crash the process. ``tests/attack`` alters the arrays of each class.
SKLEARN = {
    "calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration "
    "_TemperatureScaling",
    "compose": "ColumnTransformer TransformedTargetRegressor make_column_selector",
    "decomposition": "FactorAnalysis FastICA IncrementalPCA KernelPCA PCA TruncatedSVD",
    "discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "dummy": "DummyClassifier DummyRegressor",
    "ensemble": "BaggingClassifier BaggingRegressor StackingClassifier "
    "StackingRegressor VotingClassifier VotingRegressor",
    "feature_selection": "GenericUnivariateSelect RFE RFECV SelectFdr SelectFpr "
    "SelectFromModel SelectFwe SelectKBest SelectPercentile SequentialFeatureSelector "
    "VarianceThreshold",
    "gaussian_process": "GaussianProcessClassifier GaussianProcessRegressor "
    "_BinaryGaussianProcessClassifierLaplace",
    "impute": "KNNImputer MissingIndicator SimpleImputer",
    "isotonic": "IsotonicRegression",
    "kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch "
    "RBFSampler SkewedChi2Sampler",
    "kernel_ridge": "KernelRidge",
    "linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV "
    "HuberRegressor Lars LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC "
    "LinearRegression LogisticRegression LogisticRegressionCV MultiTaskElasticNet "
    "MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV OrthogonalMatchingPursuit "
    "OrthogonalMatchingPursuitCV QuantileRegressor RANSACRegressor Ridge RidgeCV "
    "RidgeClassifier RidgeClassifierCV TheilSenRegressor",
    "metrics": "_PassthroughScorer _Scorer",  # the scorer's function is checked, too
    "model_selection": "FixedThresholdClassifier GridSearchCV RandomizedSearchCV "
    "TunedThresholdClassifierCV",
    "multiclass": "OneVsOneClassifier OneVsRestClassifier _ConstantPredictor",
    "multioutput": "ClassifierChain MultiOutputClassifier MultiOutputRegressor "
    "RegressorChain",
    "naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing": "Binarizer FunctionTransformer KernelCenterer LabelBinarizer "
    "LabelEncoder MaxAbsScaler MinMaxScaler Normalizer "
    "OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer "
    "QuantileTransformer RobustScaler StandardScaler TargetEncoder",
    "random_projection": "GaussianRandomProjection",
    "svm": "LinearSVC LinearSVR",
    "utils": "MetadataRequest MethodMetadataRequest",
}
"""Trusted classes of scikit-learn, by package, which use NumPy only."""

MODULES = ("sklearn.gaussian_process.kernels", "sklearn.model_selection._split")
"""Modules of scikit-learn whose public classes are all trusted."""

CALLED = (
    "sklearn.utils._bunch.Bunch",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.feature_selection._univariate_selection.r_regression",
)
"""Trusted callables that get arguments from a file: a dict and functions of arrays."""

DTYPE = "numpy.dtype"
"""Type of an attribute of SimpleImputer; its instances contain no data."""

GREEDY = ("numpy.bytes_", "numpy.void", "numpy.random._generator.Generator")
"""Types trusted by skops that can allocate any number of bytes."""


def trusted_names(names: Collection[str], calls: Collection[str]) -> set[str]:
    """Return those of `names` (types and functions) that are trusted by default."""
    # `calls` are the names called with arguments from the file.
    return {
        name
        for name in names
        if name in CALLED
        or _is_score(name)
        or (name not in calls and _is_trusted_class(name))
    }


def closed_names(names: Collection[str], calls: Collection[str]) -> set[str]:
    """Return the names that skops may trust, but that `load` must check itself."""
    # They are the names of scikit-learn among `names`, and the names of `GREEDY` among
    # `calls`, which are called with arguments from the file.
    sklearn_names = {name for name in names if name.partition(".")[0] == "sklearn"}
    return sklearn_names.union(set(calls).intersection(GREEDY))


def _is_trusted_class(name: str) -> bool:
    """Return whether a full name belongs to a listed class or one of this library."""
    module_name, _, class_name = name.rpartition(".")
    top, _, package = module_name.partition(".")
    names = SKLEARN.get(package.partition(".")[0], "") if top == "sklearn" else ""
    is_listed = class_name in names.split() or module_name in MODULES or name == DTYPE
    if not (top == "multikernel" or is_listed):
        return False  # the module of an untrusted name is not imported
    try:
        value = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return False
    # Modules also contain imported names.
    return isinstance(value, type) and value.__module__ == module_name


def _is_score(name: str) -> bool:
    """Return whether a full name belongs to the function of a scikit-learn scorer."""
    if name.partition(".")[0] != "sklearn":
        return False
    from sklearn.metrics import get_scorer, get_scorer_names

    functions = [get_scorer(scorer)._score_func for scorer in get_scorer_names()]
    return name in [f"{score.__module__}.{score.__name__}" for score in functions]
