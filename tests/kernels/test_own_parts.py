"""Functions, categories and missing views as kernels; widths and other parameters."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline

from multikernel import load, save
from multikernel.estimators import HKLRegressor, SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    FunctionKernel,
    GaussianKernel,
    LinearKernel,
    NystroemKernel,
    OptionalKernel,
    ParameterGrid,
    RandomFourierFeatures,
    Views,
    kernel_names,
    median_distance,
    per_column,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
NEW = RNG.standard_normal((7, 4))
Y = np.sin(2.0 * X[:, 0])


def absolute(A, B, power=1.0):
    """A kernel of somebody else: Laplacian, with a parameter."""
    return np.exp(-(np.abs(A[:, None] - B[None]).sum(axis=2) ** power))


@pytest.mark.parametrize("name", sorted(pairwise.kernel_metrics()))
def test_functions_of_scikit_learn_by_name(name):
    A, B = np.abs(X), np.abs(NEW)  # chi2 takes no negative numbers
    kernel, function = FunctionKernel(name), pairwise.kernel_metrics()[name]
    np.testing.assert_allclose(kernel(A, B), function(A, B))
    np.testing.assert_allclose(kernel(A), function(A, A))
    np.testing.assert_allclose(kernel.diag(A), np.diagonal(function(A, A)), atol=1e-12)
    assert kernel.name == f"{name}()"


def test_a_function_with_parameters_in_an_estimator(tmp_path):
    kernel = FunctionKernel(absolute, {"power": 0.5})
    assert kernel.name == "absolute(power=0.5)"
    for kernels in (absolute, [absolute], "laplacian", ["rbf", absolute], kernel):
        model = clone(SpicyMKLRegressor(kernels, alpha=0.01)).fit(X, Y)
        assert model.duality_gap_ <= model.tol
    by_name = SpicyMKLRegressor(["laplacian", "linear"], alpha=0.01).fit(X, Y)
    save(by_name, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(NEW), by_name.predict(NEW))
    assert cross_val_score(make_pipeline(by_name), X, Y, cv=3).size == 3


def test_what_is_no_kernel_gets_a_sentence():
    with pytest.raises(
        ValueError, match=r"no kernel 'lapacian'. Did you mean 'laplacian'"
    ):
        FunctionKernel("lapacian")
    with pytest.raises(ValueError, match=r"Did you mean 'tanimoto'\? .* are tanimoto,"):
        SpicyMKLRegressor("Tanimoto").fit(X, Y)
    with pytest.raises(TypeError, match=r"must be callable, or .* got 3"):
        FunctionKernel(3)
    with pytest.raises(TypeError, match="the class LinearKernel: pass an object"):
        SpicyMKLRegressor([LinearKernel]).fit(X, Y)


def test_nested_lists_and_dictionaries_are_flattened():
    nested = [GaussianKernel.grid(3), LinearKernel(), per_column(LinearKernel(), 4)]
    model = SpicyMKLRegressor(nested, alpha=0.05).fit(X, Y)
    assert len(model.kernel_names_) == 8
    assert model.kernel_names_[3:5] == ["linear()", "linear()[x0]"]


def test_categories():
    A = RNG.integers(0, 3, (20, 3)).astype(float)
    K = CategoryKernel()(A)
    expected = [[np.mean(a == b) for b in A] for a in A]
    np.testing.assert_allclose(K, expected)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    np.testing.assert_array_equal(CategoryKernel().diag(A), np.diagonal(K))


def test_a_kernel_of_a_view_that_some_lack():
    A = X.copy()
    A[::3] = np.nan
    kernel = OptionalKernel(GaussianKernel(1.0))
    K = kernel(A)
    there = ~np.isnan(A[:, 0])
    np.testing.assert_allclose(
        K[np.ix_(there, there)], GaussianKernel(1.0)(A[there]), atol=1e-15
    )
    assert not K[~there].any()
    assert not K[:, ~there].any()
    np.testing.assert_array_equal(kernel.diag(A), there.astype(float))
    np.testing.assert_allclose(kernel(A, A), K, atol=1e-15)
    assert kernel.name == "gaussian(sigma=1)"


def test_median_distances():
    assert median_distance(X) == pytest.approx(np.median(pdist(X)))
    weights = RNG.integers(1, 4, 60)
    copies = np.repeat(X, weights, axis=0)
    assert median_distance(X, weights) == pytest.approx(median_distance(copies))
    shuffled = RNG.permutation(RNG.standard_normal((500, 2)))
    assert median_distance(shuffled) == median_distance(shuffled[::-1])
    assert median_distance(np.ones((5, 2))) == 1.0


def test_widths_are_learnt_on_the_columns_of_a_kernel():
    kernels = [GaussianKernel("median", 0.5), *GaussianKernel.grid(3)]
    grid = ParameterGrid(kernels, [slice(None), [1, 2]])
    names = SpicyMKLRegressor(grid, alpha=0.1).fit(X, Y).kernel_names_
    for columns, start in ((X, 0), (X[:, [1, 2]], 4)):
        median = median_distance(columns)
        for offset, multiple in enumerate((0.5, 0.25, 1.0, 4.0)):
            width = float(f"{multiple * median:.3g}")
            assert f"gaussian(sigma={width:g})" in names[start + offset]
    assert names[4].endswith("[x1, x2]")
    width = f"sigma={float(f'{median_distance(X):.3g}'):g}"
    sampled = [
        NystroemKernel(GaussianKernel("median"), 5),
        RandomFourierFeatures(GaussianKernel("median")),
    ]
    names = SpicyMKLRegressor(sampled, alpha=0.1).fit(X, Y).kernel_names_
    assert all(width in name for name in names)
    with pytest.raises(ValueError, match=r"has no width yet\. Estimators learn it"):
        GaussianKernel("median")(X)


def test_widths_that_are_the_same_are_told_apart():
    kernels = [GaussianKernel("median"), GaussianKernel("median", 1.0001)]
    names = SpicyMKLRegressor(kernels, alpha=0.05).fit(X, Y).kernel_names_
    assert [name.split(" ")[-1] for name in names] == ["#0", "#1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianKernel("mean"), "sigma must be .*, or 'median', got 'mean'"),
        (lambda: GaussianKernel(1.0, multiple=2.0), "multiple requires sigma='median'"),
        (lambda: GaussianKernel("median", multiple=0.0), "multiple must be"),
        (lambda: GaussianKernel.grid(0), "n must be an integer of at least 1"),
        (lambda: Views({}), "Views require a mapping from at least one name"),
        (
            lambda: Views({"a": 1}, missing="skip"),
            "missing must be one of 'error', 'ze",
        ),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def with_parameter(kernels, name, value):
    model = SpicyMKLRegressor(kernels)
    return model.set_params(**{f"kernels__{name}": value}).kernels


@pytest.mark.parametrize(
    ("kernels", "name", "value", "expected"),
    [
        (GaussianKernel(1.0), "sigma", 2.0, ["gaussian(sigma=2)"]),
        (GaussianKernel("median"), "multiple", 2.0, ["gaussian(sigma=2 median)"]),
        (
            [GaussianKernel(1.0), LinearKernel(), ColumnKernel(GaussianKernel(1.0), 1)],
            "sigma",
            2.0,
            ["gaussian(sigma=2)", "linear()", "gaussian(sigma=2)[x1]"],
        ),
        (
            [GaussianKernel(1.0), GaussianKernel(3.0)],
            "1__sigma",
            2.0,
            ["gaussian(sigma=1)", "gaussian(sigma=2)"],
        ),
        ([RBF(1.0)], "length_scale", 2.0, ["RBF(length_scale=2)"]),
        (
            [NystroemKernel(GaussianKernel(1.0), 5)],
            "kernel__sigma",
            2.0,
            ["nystroem(gaussian(sigma=2), 5)"],
        ),
    ],
)
def test_parameters_of_kernels(kernels, name, value, expected):
    before = repr(kernels)
    changed = with_parameter(kernels, name, value)
    single = not isinstance(changed, list)
    assert kernel_names([changed] if single else changed) == expected
    assert repr(kernels) == before


def test_parameters_of_views_and_grids():
    views = {"a": ([0, 1], GaussianKernel(1.0)), "b": ([2], [GaussianKernel(1.0)])}
    changed = with_parameter(views, "b__sigma", 2.0)
    assert changed["a"][1].sigma == 1.0
    assert changed["b"][1][0].sigma == 2.0
    both = with_parameter(Views(views), "sigma", 3.0).views
    assert both["a"][1].sigma == both["b"][1][0].sigma == 3.0
    assert with_parameter(per_column(GaussianKernel(1.0), 2), "sigma", 5.0)[1].name == (
        "gaussian(sigma=5)[x1]"
    )
    with pytest.raises(
        ValueError, match=r"No kernel among .* has the parameter 'degree'"
    ):
        SpicyMKLRegressor(views).set_params(kernels__degree=2)


@pytest.mark.parametrize(
    "kernels",
    [
        [GaussianKernel(1.0), NystroemKernel(GaussianKernel(2.0), 5)],
        {"a": ([0, 1], GaussianKernel(1.0)), "b": ([2], [GaussianKernel(3.0)])},
        per_column(GaussianKernel(1.0), 2),
        [RBF(1.0) + WhiteKernel(0.5)],
    ],
    ids=["list", "views", "grid", "scikit-learn"],
)
def test_names_of_parameters_are_those_that_can_be_set(kernels):
    listed = SpicyMKLRegressor(kernels).get_params()
    names = [name for name in listed if name.startswith("kernels__")]
    assert len(names) > 2
    for name in names:
        value = listed[name]
        value = value[0] if isinstance(value, list) else value
        again = SpicyMKLRegressor(kernels).set_params(**{name: value})
        found = again.get_params()[name]
        assert repr(found) == repr(value)


def test_values_of_parameters_are_those_of_the_kernels():
    kernels = [GaussianKernel(1.0), NystroemKernel(GaussianKernel(2.0), 5)]
    listed = SpicyMKLRegressor(kernels).get_params()
    assert listed["kernels__sigma"] == [1.0, 2.0]
    assert listed["kernels__0__sigma"] == 1.0
    assert listed["kernels__1__kernel__sigma"] == 2.0
    assert "kernels__sigma" not in SpicyMKLRegressor(kernels).get_params(deep=False)


def test_searches_over_parameters_of_kernels():
    y = np.where(Y > 0.0, "up", "down")
    kernels = per_column(GaussianKernel(1.0), 4)
    grid = {"kernels__sigma": [0.3, 30.0], "alpha": [0.05]}
    search = GridSearchCV(SpicyMKLClassifier(kernels), grid, cv=3).fit(X, y)
    assert search.best_params_["kernels__sigma"] == 0.3
    assert search.best_estimator_.kernel_names_[0] == "gaussian(sigma=0.3)[x0]"


def test_a_way_out_where_a_method_takes_one_output():
    several = np.column_stack([Y, X[:, 1]])
    model = HKLRegressor(alpha=0.1)
    with pytest.raises(ValueError, match=r"MultiOutputRegressor\(HKLRegressor\("):
        model.fit(X, several)
    assert MultiOutputRegressor(model).fit(X, several).predict(NEW).shape == (7, 2)


@pytest.mark.parametrize("storage", ["dense", "low_rank", "lazy", "by_kernel"])
def test_functions_that_are_no_kernels_are_refused_in_every_storage(storage):
    turn = np.eye(4) + np.diag([0.5, 0.0, 0.0], 1)
    functions = {
        "the order of the two samples": lambda A, B: A @ turn @ B.T,
        "the other samples of a call": lambda A, B: (
            (A - A.mean(axis=0)) @ B.T + A @ (B - A.mean(axis=0)).T
        ),
        "not positive semidefinite": lambda A, B: A @ B.T - 0.3 * np.tanh(A @ B.T),
    }
    for message, function in functions.items():
        model = SpicyMKLRegressor([LinearKernel(), function], storage=storage)
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)
