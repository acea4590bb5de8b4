"""Bad input to estimators: what is wrong, where, and what was expected."""

import copy
import inspect
import pickle
import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, CompoundKernel
from sklearn.model_selection import GroupKFold, KFold

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressor,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvival,
    stack_grams,
)
from multikernel.exceptions import (
    ConvergenceWarning,
    DegenerateKernelWarning,
    DictionaryWarning,
    StackTooLargeError,
)
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    Grams,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)

KERNELS = [GaussianKernel(1.0), LinearKernel()]


def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((30, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 0, 1, 0)


def changed(X, place, value):
    X = X.copy()
    X[place] = value
    return X


PARAMETERS = [
    ({"alpha": 0.0}, r"SpicyMKL\w+: alpha must be .*a finite number .*, got 0\.0"),
    ({"alpha": -1}, "alpha must be .*a finite number above 0.*, got -1"),
    ({"alpha": np.nan}, "alpha must be .*a finite number above 0.*, got nan"),
    ({"alpha": "0.1"}, "alpha must be .*a finite number above 0.*, got '0.1'"),
    ({"alpha": True}, "alpha must be .*a finite number above 0.*, got True"),
    ({"l1_ratio": 1.5}, r"l1_ratio must be a finite number in \[0, 1\], got 1.5"),
    ({"l1_ratio": -0.1}, r"l1_ratio must be a finite number in \[0, 1\]"),
    (
        {"loss": SimpleNamespace(value=None, gradient=None)},
        r"or a loss object \(.* has no conjugate, dual_bounds\), got namespace",
    ),
    ({"loss": "log"}, "loss must be one of '.*', or a loss object, got 'log'"),
    ({"loss": None}, "loss must be one of"),
    ({"normalize": "norm"}, "normalize must be None, one of 'trace', .*, got 'norm'"),
    ({"normalize": ["trace", 3]}, "normalize must be None"),
    ({"fit_intercept": 1}, "fit_intercept must be True or False, got 1"),
    ({"tol": 0.0}, "tol must be a finite number above 0"),
    ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0"),
    ({"max_iter": 10.5}, "max_iter must be an integer"),
    ({"storage": "disk"}, "storage must be one of 'auto', .*, got 'disk'"),
    ({"max_bytes": -5}, "max_bytes must be None, or an integer of at least 1"),
    ({"verbose": -1}, "verbose must be True or False, or an integer of at least 0"),
    ({"kernels": []}, "kernels is empty: pass at least one kernel"),
    ({"kernels": ()}, "kernels is empty"),
    ({"kernels": "gaussian"}, "no kernel 'gaussian'. Did you mean GaussianKernel"),
    ({"kernels": 3}, "kernels must be None, 'precomputed', a kernel, .*, got 3"),
    ({"kernels": np.eye(3)}, "kernels must be None, 'precomputed', a kernel"),
    ({"kernels": {1: 0}}, "name of a view must be text, got 1"),
    ({"kernels": {}}, "Views require a mapping from at least one name"),
    (
        {"kernels": [ColumnKernel(LinearKernel(), 3)]},
        r"index 3, .* use an index from 0 to 2",
    ),
    ({"kernels": [ColumnKernel(LinearKernel(), "age")]}, "'age', .* no column names"),
]


@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLRegressor])
@pytest.mark.parametrize(("settings", "message"), PARAMETERS)
def test_bad_parameters(kind, settings, message):
    X, y = data()
    model = kind(**{"kernels": KERNELS} | settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params(deep=False))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            SpicyMKLRegressor,
            {"epsilon": -0.1},
            "epsilon must be None, or a finite number of at",
        ),
        (
            SpicyMKLRegressor,
            {"loss": "hinge"},
            "one of 'squared_error', 'epsilon_insens",
        ),
        (SpicyMKLClassifier, {"loss": "epsilon_insensitive"}, "one of 'log_loss', 'hi"),
        (
            SpicyMKLClassifier,
            {"class_weight": "equal"},
            "class_weight must be None, 'b",
        ),
        (SpicyMKLClassifier, {"class_weight": {0: -1.0}}, "to positive weights"),
        (SpicyMKLClassifier, {"class_weight": {7: 1.0}}, "contains 7, but the classes"),
        (
            SpicyMKLClassifierCV,
            {"random_state": "x"},
            "random_state must be None, or an integer .*, got 'x'",
        ),
    ],
)
def test_bad_parameters_of_one_kind(kind, settings, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        kind(KERNELS, **settings).fit(X, y)


SAMPLES = [
    (
        lambda X, y: (changed(X, (3, 1), np.nan), y, None),
        r"contains NaN at row 3, column 1\. Pass .*Views.* or remove these rows\.$",
    ),
    (
        lambda X, y: (changed(X, ([5, 7], 2), -np.inf), y, None),
        "contains infinity at row 5, column 2, the first of 2 values that are not fin",
    ),
    (
        lambda X, y: (changed(X, (4, 1), -1e120), y, None),
        r"X holds -1e\+120 at row 4, column 1, too large .* at most 1e\+100\.",
    ),
    (
        lambda X, y: (np.ma.masked_greater(X, 1.0), y, None),
        "X is a masked array with masked values",
    ),
    (
        lambda X, y: (X, np.ma.array(y, mask=X[:, 0] > 1.0), None),
        "y is a masked array with masked values",
    ),
    (
        lambda X, y: (np.array(sparse.coo_matrix(X), dtype=object), y, None),
        "X must be an array of numbers, but is one object, a coo_matrix",
    ),
    (
        lambda X, y: (np.array(None), y, None),
        "X must be an array of numbers, but is one object, None",
    ),
    (lambda X, y: (X + 1j, y, None), "Complex data not supported: X must hold real"),
    (lambda X, y: (X, y + 1j, None), "Complex data not supported: y must hold real"),
    (
        lambda X, y: (X.view([("a", "f8")]), y, None),
        "X is a structured array: pass an array of numbers",
    ),
    (
        lambda X, y: (X, y.astype(float).view([("a", "f8")]), None),
        "y is a structured array: pass an array of numbers",
    ),
    (lambda X, y: (None, y, None), "X is None: pass an array or a data frame"),
    (
        lambda X, y: (X, y, np.full(30, 1e300)),
        r"class_weight\) sums to 3e\+301, but its sum",
    ),
    (
        lambda X, y: (X, y, np.full(30, 1j)),
        "sample_weight must hold real numbers, got complex numbers",
    ),
    (lambda X, y: (X, y, ["a"] * 30), "sample_weight must hold real numbers, got 'a'"),
    (lambda X, y: (X[:, 0], y, None), r"has shape \(30,\). Reshape your data"),
    (
        lambda X, y: (X[:, :, None], y, None),
        r"\(30, 3, 1\). For Gram .*see stack_grams",
    ),
    (
        lambda X, y: ({"lin": X @ X.T}, y, None),
        "a mapping with the keys .'lin'.: .* stack_grams",
    ),
    (
        lambda X, y: (pd.DataFrame(X).to_dict("records"), y, None),
        r"a list of dicts: pass pandas.DataFrame\(X\)",
    ),
    (lambda X, y: (X[:, :0], y, None), "0 feature"),
    (
        lambda X, y: (pd.DataFrame(index=range(30)), y, None),
        "DataFrame without columns",
    ),
    (lambda X, y: (X[:0], y[:0], None), "0 sample"),
    (lambda X, y: (X, y[:0], None), "y holds 0 samples: pass one target"),
    (lambda X, y: (X[:1], y[:1], None), "(at least two samples|one class)"),
    (lambda X, y: (X, y[:-2], None), r"inconsistent numbers of samples: \[30, 28\]"),
    (lambda X, y: (X, None, None), "requires y to be passed"),
    (lambda X, y: (X, y, np.ones(29)), r"29 values for 30 samples"),
    (lambda X, y: (X, y, np.ones((30, 2))), "Sample weights must be 1D"),
    (lambda X, y: (X, y, changed(np.ones(30), 4, -1)), r"sample_weight\[4\] is -1"),
    (
        lambda X, y: (X, y, changed(np.ones(30), 4, np.nan)),
        r"sample_weight\[4\] is nan",
    ),
    (lambda X, y: (X, y, np.zeros(30)), "All values of sample_weight are zero"),
    (lambda X, y: (X, y, np.eye(30)[0]), "(at least two samples|two classes)"),
]


@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLRegressor])
@pytest.mark.parametrize(("make", "message"), SAMPLES)
def test_bad_samples(kind, make, message):
    X, y, weights = make(*data())
    with pytest.raises((ValueError, TypeError), match=message):
        kind(KERNELS).fit(X, y, weights)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.zeros(30), "at least two classes, got one class only: 0.0"),
        (np.linspace(0, 1, 30), "Unknown label type: continuous.* at row 1, but cla"),
        (np.full(30, "a"), "got one class only: 'a'"),
        (np.array(["a", None] * 15), r"NaN at row 1, a missing label \(None\)"),
        (np.array(["a", np.nan] * 15, dtype=object), "NaN at row 1, a missing label"),
        (np.array(["a", 3] * 15, dtype=object), "text and other labels: 'a' at row 0"),
    ],
)
def test_targets_that_are_no_classes(targets, message):
    with pytest.raises(ValueError, match=message):
        SpicyMKLClassifier(KERNELS).fit(data()[0], targets)


def test_the_row_of_a_fraction_counts_samples_of_weight_zero():
    X, y = data()
    y, weights = y.astype(float), np.ones(len(y))
    y[9], weights[:5] = 0.5, 0.0
    with pytest.raises(ValueError, match="at row 9, but classes"):
        SpicyMKLClassifier(KERNELS).fit(X, y, weights)


def test_one_class_left_by_the_weights():
    X, y = data()
    with pytest.raises(ValueError, match="one class only: 1"):
        SpicyMKLClassifier(KERNELS).fit(X, y, y)


@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLRegressor])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_targets_that_are_not_finite(kind, value, word):
    X, y = data()
    with pytest.raises(ValueError, match=f"Input y contains {word} at row 2\\. Corr"):
        kind(KERNELS).fit(X, changed(y.astype(float), 2, value))


def test_one_of_several_targets_that_is_not_finite():
    X, y = data()
    targets = changed(np.column_stack([y, 1.0 - y]), (4, 1), np.nan)
    with pytest.raises(ValueError, match="y contains NaN at row 4, column 1"):
        GroupOMPRegressor(KERNELS).fit(X, targets)


@pytest.mark.parametrize("kind", [SpicyMKLRegressor, GroupOMPRegressor])
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.array(["a", "b"] * 15), "y must hold numbers, but it holds .a. at row 0"),
        (np.arange(30).astype("datetime64[D]"), "must hold numbers, but holds dates"),
        (
            changed(np.zeros(30), 7, -1e120),
            r"1e\+120 at row 7, too large",
        ),
    ],
)
def test_targets_that_are_no_numbers(kind, targets, message):
    with pytest.raises(ValueError, match=message):
        kind(KERNELS).fit(data()[0], targets)


def test_duplicate_names():
    with pytest.raises(ValueError, match="2 kernels are named 'a'"):
        ListDictionary(KERNELS, names=["a", "a"])


def test_no_kernel_in_the_list():
    X, y = data()
    with pytest.raises(TypeError, match=r"Kernel 1 must be callable .* got 3"):
        SpicyMKLClassifier([GaussianKernel(1.0), 3]).fit(X, y)
    with pytest.raises(TypeError, match=r"1 is the class LinearKernel: .*\(\.\.\.\)"):
        SpicyMKLClassifier([GaussianKernel(1.0), LinearKernel]).fit(X, y)


def test_a_compound_of_kernels():
    X, y = data()
    with pytest.raises(
        ValueError, match="Pass the kernels of a CompoundKernel one by one"
    ):
        SpicyMKLClassifier([CompoundKernel([RBF(1.0), RBF(2.0)])]).fit(X, y)


def test_a_stack_above_the_limit():
    X, y = data()
    with pytest.raises(StackTooLargeError, match=r"36 kB, but the limit is 1 kB"):
        SpicyMKLClassifier(KERNELS, storage="dense", max_bytes=1000).fit(X, y)


@pytest.mark.parametrize("method", ["predict", "decision_function", "contributions"])
def test_bad_data_at_prediction(method):
    X, y = data()
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but SpicyMKLClassifier"):
        getattr(model, method)(X[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        getattr(model, method)(changed(X, (0, 0), np.nan))


@pytest.mark.parametrize("scale", [1e15, 1e20, 1e60])
def test_large_targets_are_no_reason_to_blame_a_kernel(scale):
    X, _ = data()
    model = SpicyMKLRegressor(KERNELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, scale * X[:, 0])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("kind", [GroupOMPRegressor, HKLRegressor, SpicyMKLRegressor])
def test_targets_in_tiny_units_are_fitted_alike_or_refused(kind):
    X, _ = data()
    y = np.sin(X[:, 0])
    predictions = kind().fit(X, y).predict(X)
    tiny = kind().fit(X, 1e-40 * y).predict(X)
    np.testing.assert_allclose(1e40 * tiny, predictions, atol=1e-9)
    with pytest.raises(ValueError, match="too small for sums of squares"):
        kind().fit(X, 1e-160 * y)
    if kind is not HKLRegressor:  # one target only
        targets = np.column_stack([y, 1e-160 * y])
        with pytest.raises(ValueError, match="absolute value of column 1 of y is"):
            kind().fit(X, targets)


def test_a_callback_that_cannot_be_called():
    with pytest.raises(ValueError, match=r"callback must be callable, or None, got 3"):
        SpicyMKLClassifier(KERNELS).fit(*data(), callback=3)


@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_values_of_a_kernel_that_overflow(storage):
    X, y = data()
    model = SpicyMKLClassifier([PolynomialKernel(9)], storage=storage)
    with pytest.raises(ValueError, match="has values that are not finite: scale the"):
        model.fit(1e50 * X, y)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DegenerateKernelWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.parametrize("scale", [1e12, 1e-12])
def test_values_beyond_single_precision(scale):
    """A search holds kernels as they are, and does not take them for zero or NaN."""
    X, y = data()
    search = SpicyMKLClassifierCV(
        [GaussianKernel(1.0), PolynomialKernel(4, offset=0.0)], n_alphas=3, cv=2
    )
    search.set_params(storage="dense32")
    with pytest.raises(ValueError, match=r"kernel 1 \(polynomial.*single precision"):
        search.fit(scale * X, y)
    search.set_params(storage="dense").fit(scale * X, y)
    # A single fit normalizes before it rounds.
    SpicyMKLClassifier(search.kernels, storage="dense32").fit(scale * X, y)


def test_complex_values_of_a_kernel():
    class Waves(LinearKernel):
        def __call__(self, X, Y=None):
            return super().__call__(X, Y) + 1j

    X, y = data()
    with pytest.raises(ValueError, match="returned complex values"):
        SpicyMKLClassifier([Waves()]).fit(X, y)


def test_values_of_a_kernel_that_overflow_at_prediction():
    X, y = data()
    model = SpicyMKLClassifier([PolynomialKernel(9)]).fit(X, y)
    with pytest.raises(
        ValueError, match=r"polynomial\(degree=9\) has values that are n"
    ):
        model.predict(1e50 * X)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("storage", ["dense", "low_rank", "lazy"])
@pytest.mark.parametrize("kind", [SpicyMKLRegressor, GroupOMPRegressor])
def test_predictions_that_overflow_are_refused(kind, storage):
    """Values of the kernel are numbers, and their multiples by 1e240 are not."""
    X, _ = data()
    quartic = [PolynomialKernel(4, offset=0.0)]
    model = kind(quartic, storage=storage).fit(1e-30 * X, X[:, 0] ** 4)
    far = np.diag([0.0, 1e60, 0.0])
    asked = [model.predict, model.contributions]
    if kind is GroupOMPRegressor:
        asked.append(lambda X: list(model.staged_predict(X)))
    for method in asked:
        assert all(np.isfinite(each).all() for each in method(1e-80 * far))
        with pytest.raises(ValueError, match="row 1 of X is too large for floating"):
            method(far)
    with pytest.raises(ValueError, match=r"CombinedKernel.* values that are not fin"):
        model.combined_kernel_(far, X)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_predictions_that_overflow_in_a_fold_are_refused():
    X, _ = data()
    y, X = 1e20 * X[:, 0] ** 4, 1e-38 * X
    X[-1, 0] = 1e38
    search = SpicyMKLRegressorCV([PolynomialKernel(4, offset=0.0)], cv=2)
    with pytest.raises(ValueError, match="row 14 of the validation samples of a fold"):
        search.fit(X, y)


class ShortDiagonal(LinearKernel):
    def diag(self, X):
        return super().diag(X)[:-1]


def test_a_diagonal_of_another_length():
    X, y = data()
    with pytest.raises(
        ValueError, match=r"diag of kernel 0 .* \(29,\), expected \(30,"
    ):
        SpicyMKLClassifier([ShortDiagonal()], storage="lazy").fit(X, y)


HUGE = 10**400
"""An integer that no floating-point number comes near."""


@pytest.mark.parametrize("value", [HUGE, 10**5000], ids=["400 digits", "5000 digits"])
@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SpicyMKLClassifier, "alpha"),
        (SpicyMKLClassifier, "max_iter"),
        (SpicyMKLClassifier, "max_bytes"),
        (LpMKLClassifier, "p"),
        (LpMKLClassifier, "tol"),
        (FixedWeightsMKLRegressor, "epsilon"),
    ],
)
def test_integers_beyond_all_floats_as_parameters(estimator, name, value):
    model = estimator([GaussianKernel(1.0)], **{name: value})
    with pytest.raises(ValueError, match=rf"{estimator.__name__}: {name} must be"):
        model.fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (LpMKLClassifier, "p", Fraction(3, 2)),
        (LpMKLClassifier, "C", np.float16(1.5)),
        (LpMKLRegressor, "p", np.float16(1.5)),
        (LpMKLClassifier, "p", 10**30),
        (FixedWeightsMKLRegressor, "C", np.float16(1.5)),
        (SpicyMKLClassifier, "alpha", Fraction(1, 4)),
        (SpicyMKLClassifierCV, "alpha_min_ratio", Fraction(1, 8)),
        (GroupOMPClassifier, "alpha", np.float32(0.25)),
    ],
)
def test_a_number_counts_by_its_value_not_its_type(estimator, name, value):
    X, y = data()
    same = estimator(KERNELS, **{name: float(value)}).fit(X, y)
    model = estimator(KERNELS, **{name: value}).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, same.dual_coef_)


def test_integers_beyond_all_floats_as_data():
    X = np.eye(4).astype(object)
    y = np.arange(4)
    with pytest.warns(DictionaryWarning, match="can only memorize"):
        model = FixedWeightsMKLRegressor([GaussianKernel(1.0)]).fit(X, y)
    X[1, 2] = HUGE
    message = r"X holds an integer that is too large .* \(row 1, column {}\): use"
    for act in (lambda: model.predict(X), lambda: model.fit(X, y)):
        with pytest.raises(ValueError, match=message.format(2)):
            act()
    with pytest.raises(ValueError, match=message.format("'c'")):
        model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="y holds an integer that is too large"):
        model.fit(np.eye(4), [0, 1, HUGE, 3])
    with pytest.raises(ValueError, match="within the range of float64, got 1000000"):
        model.fit(np.eye(4), y, sample_weight=[1, 1, 1, HUGE])
    with pytest.raises(ValueError, match="sigma must be"):
        GaussianKernel(HUGE)


@pytest.mark.parametrize("scale", [1e-161, 1e-170, 0.0], ids=str)
@pytest.mark.parametrize(
    "kind", [SpicyMKLClassifier, LpMKLClassifier, GroupOMPClassifier]
)
def test_tiny_and_equal_rows_are_degenerate_kernels_not_indefinite_ones(kind, scale):
    X = scale * np.random.default_rng(0).standard_normal((20, 2)) + (scale == 0.0)
    model = kind([LinearKernel(), GaussianKernel(1.0)])
    constant = pytest.warns(DictionaryWarning, match="no active kernel")
    with constant, pytest.warns(DegenerateKernelWarning):
        model.fit(X, np.arange(20) % 2)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("kind", [SpicyMKLRegressor, HKLRegressor, OneClassMKL])
@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda X: X[:, 0], r"has shape \(150,\). Reshape your data"),
        (lambda X: X[:, 0].tolist(), r"has shape \(150,\). Reshape your data"),
        (lambda X: X[:, :, None], r"has shape \(150, 2, 1\). For Gram matrices"),
    ],
)
def test_another_number_of_axes_gets_a_sentence_without_the_numbers(kind, cut, message):
    X = np.random.default_rng(0).standard_normal((150, 2))
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        kind().fit(cut(X), X[:, 0])
    assert len(str(caught.value)) < 200


def test_a_row_to_predict_gets_the_same_sentence():
    X, y = data()
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    with pytest.raises(ValueError, match=r"has shape \(3,\). Reshape your data"):
        model.predict(X[0])


def test_column_names_and_sparse_frames_get_the_call_that_works():
    X, y = data()
    frame = pd.DataFrame(X)
    with pytest.raises(ValueError, match=r"pass the column, .* groups=X\['site'\]"):
        SpicyMKLClassifierCV().fit(frame, y, groups="site")
    with pytest.raises(ValueError, match=r"pass X\.sparse\.to_dense\(\)"):
        SpicyMKLClassifier().fit(frame.astype(pd.SparseDtype(float)), y)


@pytest.mark.parametrize("kernels", ["precomputed", None])
def test_matrices_by_name_lead_to_stack_grams(kernels):
    X, y = data()
    grams = {"linear": X @ X.T}
    with pytest.raises(ValueError, match=r"keys .'linear'.: .* pass stack_grams"):
        SpicyMKLClassifier(kernels).fit(grams, y)
    with pytest.raises(ValueError, match=r"keys .'linear'.: .* pass stack_grams"):
        OneClassMKL(kernels).fit(grams)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("gaussian", r"GaussianKernel\('median'\)"),
        ("gauss", r"GaussianKernel\('median'\)"),
        ("category", "CategoryKernel"),
        ("xyz", r"GaussianKernel\('median'\)"),
    ],
)
def test_the_name_of_no_function_leads_to_a_kernel_of_this_library(name, named):
    X, y = data()
    for kernels in (name, [name], {"a view": ([0], name)}):
        with pytest.raises(ValueError, match=f"as objects, such as {named} of"):
            SpicyMKLClassifier(kernels).fit(X, y)


@pytest.mark.parametrize(
    ("kind", "name", "named"),
    [
        (SpicyMKLRegressor, "C", "did you mean alpha?"),
        (LpMKLRegressor, "alpha", "did you mean C?"),
        (SpicyMKLRegressorCV, "Cs", "did you mean alphas?"),
        (SpicyMKLRegressor, "kernel", "did you mean kernels?"),
        (SpicyMKLRegressor, "gamma", "did you mean kernels?"),
        (SpicyMKLRegressorCV, "seed", "did you mean random_state?"),
        (SpicyMKLRegressor, "random_state", "repeated fits give the same model"),
        (HKLRegressor, "seed", "repeated fits give the same model"),
        (SpicyMKLClassifier, "max_iters", "did you mean max_iter"),
        (
            SpicyMKLClassifier,
            "zzz",
            "no parameter 'zzz'. Its parameters are kernels, alpha, loss",
        ),
    ],
)
def test_an_unknown_parameter_names_the_near_ones(kind, name, named):
    with pytest.raises(TypeError) as made:
        kind(**{name: 1.0})
    assert named in str(made.value)
    with pytest.raises(ValueError, match="Invalid parameter") as set_later:
        kind().set_params(**{name: 1.0})
    assert named.split(". It")[0] in str(set_later.value)


def test_parameters_are_still_what_python_and_scikit_learn_read():
    class Own(SpicyMKLRegressor):
        def __init__(self, kernels=None, alpha=1.0, extra=2):
            super().__init__(kernels, alpha)
            self.extra = extra

    class Loose(SpicyMKLRegressor):
        def __init__(self, kernels=None, **others):
            super().__init__(kernels, **others)

    parameters = inspect.signature(SpicyMKLRegressor).parameters
    assert list(parameters)[:2] == ["kernels", "alpha"]
    assert sorted(parameters) == list(SpicyMKLRegressor().get_params())
    assert clone(Own(extra=3)).extra == 3
    assert Loose(alpha=0.1).alpha == 0.1
    with pytest.raises(TypeError, match="Own has no parameter 'loss'"):
        Own(loss="hinge")
    again = pickle.loads(pickle.dumps(copy.deepcopy(SpicyMKLRegressor(alpha=0.2))))
    assert again.alpha == 0.2


@pytest.mark.parametrize(
    ("name", "where"),
    [("coef_", "contributions"), ("feature_importances_", "variance_shares_")],
)
def test_what_linear_models_have_says_where_to_look(name, where):
    X, y = data()
    for model in (SpicyMKLClassifier(KERNELS), SpicyMKLClassifier(KERNELS).fit(X, y)):
        assert not hasattr(model, name)
        assert name not in dir(model)
        with pytest.raises(AttributeError, match=f"has no {name}: .*{where}"):
            getattr(model, name)
    # Other names have Python's words, and properties without a value their own.
    with pytest.raises(AttributeError, match="object has no attribute 'coef'"):
        _ = model.coef
    with pytest.raises(AttributeError, match="was fitted without views"):
        _ = model.view_shares_
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'") as caught:
        _ = SpicyMKLClassifier(loss="hinge").predict_proba
    assert "Probabilities require loss='log_loss'" in str(caught.value.__cause__)


@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLClassifierCV])
@pytest.mark.parametrize("number", [int, float])
def test_targets_that_may_be_numbers_get_one_warning(kind, number):
    X, _ = data()
    y = (np.arange(30) % 20).astype(number)
    settings = {"alphas": [0.1], "cv": KFold(2)} if kind is SpicyMKLClassifierCV else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind([GaussianKernel(1.0)], max_iter=2, tol=0.1, **settings).fit(X, y)
    said = [w for w in caught if "unique classes is greater" in str(w.message)]
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            kind().fit(X, X[:, 0])


def test_a_memory_view_of_text_gets_a_sentence():
    view = memoryview(np.array(["word", "text", "word"]))
    with pytest.raises((ValueError, TypeError)):
        SpicyMKLRegressor().fit(view, np.arange(3.0))


def test_targets_in_a_memory_view_are_the_array_they_show():
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = X[:, 0] + X[:, 1]
    viewed, plain = (SpicyMKLRegressor().fit(X, t) for t in (memoryview(y), y))
    np.testing.assert_array_equal(viewed.predict(X), plain.predict(X))


def test_masked_values_are_no_offsets_and_no_groups():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    masked = np.ma.masked_where(y > 20, y)
    with pytest.raises(ValueError, match="offset is a masked array"):
        SpicyMKLRegressor().fit(X, y, offset=masked)
    with pytest.raises(ValueError, match="groups is a masked array"):
        SpicyMKLRegressorCV(cv=GroupKFold(3)).fit(X, y, groups=masked)


def test_masks_within_lists_and_records_are_not_ignored():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(1.0, 31.0)
    rows = [np.ma.masked_greater(row, 1.0) for row in X]
    with pytest.raises(ValueError, match="X is a masked array"):
        SpicyMKLRegressor().fit(rows, y)
    times = np.ma.array(np.zeros(30, dtype=[("event", bool), ("time", float)]))
    times["event"], times["time"] = True, np.ma.masked_greater(y, 20.0)
    with pytest.raises(ValueError, match=r"y\['time'\] is a masked array"):
        SpicyMKLSurvival().fit(X, times)
    matrix = np.ma.masked_greater(X @ X.T, 1.0)
    with pytest.raises(ValueError, match="Gram matrix 0 is a masked array"):
        stack_grams([matrix])
    with pytest.raises(ValueError, match="Grams has masked values"):
        Grams(matrix, 0)


def test_what_is_no_dense_gram_matrix_is_named():
    K = np.eye(3)
    assert stack_grams({"K": pl.DataFrame(K)}).shape == (3, 3, 1)
    with pytest.raises(
        ValueError, match=r"Gram matrix 1 is sparse: convert it with toarray"
    ):
        stack_grams([K, sparse.csr_array(K)])
    with pytest.raises(ValueError, match="Gram matrix 0 must hold one value"):
        stack_grams([("K", K), ("L", K)])


@pytest.mark.parametrize("kind", [SpicyMKLRegressor, SpicyMKLClassifier])
def test_score_checks_weights_as_fit_does(kind):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    model = kind().fit(X, y)
    expected = pytest.approx(model.score(X[:20], y[:20]))
    assert model.score(X, y, sample_weight=1.0 * (np.arange(30) < 20)) == expected
    for weights in (np.ma.masked_equal(y, 1), -y, ["1"] * 30):
        with pytest.raises(ValueError, match="sample_weight must"):
            model.score(X, y, sample_weight=weights)


def test_the_name_of_a_column_is_no_target():
    with pytest.raises(ValueError, match=r"y='t' must .* y=X\['t'\]"):
        SpicyMKLRegressor().fit(np.ones((30, 2)), "t")


def test_lists_with_text_are_read_as_arrays_are():
    X = [["u", 1.0], ["v", 2.0], ["u", 3.5], ["v", 4.0]] * 6
    y, views = np.arange(24.0), {"words": [0], "numbers": [1]}
    of_list, of_array = (
        SpicyMKLRegressor(views).fit(table, y).predict(table)
        for table in (X, np.array(X, dtype=object))
    )
    np.testing.assert_array_equal(of_list, of_array)


def test_kernels_that_return_no_plain_array_are_named():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    for change, words in (
        (lambda K: np.ma.masked_less(K, 0.0), "returned a masked array"),
        (sparse.csr_array, "returned a sparse array"),
        (lambda K: "K", "returned 'K': a kernel must return an array of numbers"),
    ):
        kernel = [lambda X, Y, change=change: change(X @ Y.T)]
        with pytest.raises(ValueError, match=rf"Kernel 0 \(.*\) {words}"):
            SpicyMKLRegressor(kernel).fit(X, y)
    # The layout of the array in memory has no effect.
    columns_first, plain = (
        SpicyMKLRegressor([kernel]).fit(X, y).predict(X)
        for kernel in (lambda X, Y: (Y @ X.T).T, lambda X, Y: (Y @ X.T).T.copy())
    )
    np.testing.assert_array_equal(columns_first, plain)


@pytest.mark.parametrize(
    "family", [LpMKLClassifier, LpMKLClassifierCV, FixedWeightsMKLClassifier]
)
def test_tiny_matrices_are_named_instead_of_a_default_strength(family):
    x = np.random.default_rng(0).standard_normal(30)
    grams, y = stack_grams([np.outer(x, x) * 2.0**-600]), np.sign(x)
    with pytest.raises(ValueError, match=r"Gram matrices .* too small for the default"):
        family("precomputed", normalize=None).fit(grams, y)
    assert family("precomputed", normalize="variance").fit(grams, y).score(grams, y) > 0


@pytest.mark.parametrize("kernels", [None, GaussianKernel("median")])
def test_tiny_columns_are_named_instead_of_a_width(kernels):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ValueError, match="is too small for a Gaussian kernel"):
        SpicyMKLRegressor(kernels).fit(X * 1e-200, X[:, 0])
