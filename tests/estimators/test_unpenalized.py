"""Columns without a penalty beside kernels."""

import warnings

import cvxpy
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from multikernel import load, save
from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    LocalRademacherMKLRegressor,
    LpMKLRegressor,
    LpMKLRegressorCV,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    regularization_path,
)
from multikernel.exceptions import (
    ConvergenceWarning,
    DataWarning,
    UnsupportedProblemError,
)
from multikernel.kernels import GaussianKernel, Unpenalized

WIDTHS = [GaussianKernel(sigma) for sigma in (1.0, 2.0, 4.0)]
VIEWS = {
    "genes": (["a", "b", "c", "d"], WIDTHS),
    "confounders": Unpenalized(["age", "batch"]),
}
SPARSE = {"alpha": 0.05, "tol": 1e-7}
MARGIN = {"loss": "squared_error", "C": 0.5, "tol": 1e-7}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    X["age"] = 50.0 + 10.0 * rng.standard_normal(60)
    X["batch"] = rng.choice(["u", "v", "w"], 60)
    y = np.sin(2.0 * X.a) + 0.1 * X.age + np.where(X.batch == "v", 3.0, 0.0)
    return X, y.to_numpy() + 0.3 * rng.standard_normal(60)


def columns_of(X):
    """Return the columns that the model has beside kernels, and a constant."""
    return np.column_stack([np.ones(len(X)), X.age, X.batch == "v", X.batch == "w"])


def normalized(X, weights):
    """Return the kernels of unit (weighted) variance."""
    table = X[list("abcd")].to_numpy()
    shares = weights / weights.sum()
    grams = [kernel(table) for kernel in WIDTHS]
    return [K / (np.diag(K) @ shares - shares @ K @ shares) for K in grams]


def conic_optimum(X, y, w, p):
    """Return the optimum over functions and coefficients, by cones.

    With p = 1 of the sparse problem at 0.05, otherwise of the unweighted sum at C=0.5.
    """
    beta, loss = cvxpy.Variable(4), 0.0
    f, norms = columns_of(X) @ beta, []
    for K in normalized(X, w):
        values, vectors = np.linalg.eigh(K)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        u = cvxpy.Variable(len(K))
        f, norms = f + root @ u, [*norms, cvxpy.norm(u)]
    loss = 0.5 * cvxpy.sum(cvxpy.multiply(w, cvxpy.square(y - f)))
    if p == 1:
        alpha = 0.05 * np.sqrt(np.cov(y, aweights=w, ddof=0))
        objective = loss / w.sum() + alpha * cvxpy.sum(cvxpy.hstack(norms))
    else:
        objective = 0.5 * loss + 0.5 * cvxpy.sum_squares(cvxpy.hstack(norms))
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    return problem.solve(solver="CLARABEL"), beta.value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "p"),
    [
        (SpicyMKLRegressor(VIEWS, **SPARSE), 1),
        (FixedWeightsMKLRegressor(VIEWS, normalize="variance", **MARGIN), np.inf),
    ],
)
def test_the_optimum_is_that_of_cones(samples, model, p, weighted):
    X, y = samples
    w = np.arange(60.0) % 3.0 + 1.0 if weighted else np.ones(60)
    expected, beta = conic_optimum(X, y, w, p)
    fitted = clone(model).fit(X, y, sample_weight=w)
    assert fitted.objective_ == pytest.approx(expected, rel=1e-5)
    assert fitted.duality_gap_ <= 1e-7
    coefs = np.concatenate([fitted.intercept_, fitted.unpenalized_coef_])
    np.testing.assert_allclose(coefs, beta, rtol=2e-2, atol=2e-2)
    assert fitted.unpenalized_names_ == ["age", "batch=v", "batch=w"]
    np.testing.assert_allclose(
        columns_of(X).T @ fitted.dual_coef_, 0.0, atol=1e-7 * 60 * 60
    )
    f = fitted.contributions(X).sum(axis=1) + columns_of(X) @ coefs
    np.testing.assert_allclose(fitted.predict(X), f)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_above_the_largest_strength_it_is_least_squares(samples, fit_intercept):
    X, y = samples
    with pytest.warns(UserWarning, match="no active kernel"):
        model = SpicyMKLRegressor(VIEWS, alpha=1e3, fit_intercept=fit_intercept).fit(
            X, y + 1e6
        )
    B = columns_of(X)[:, 1:] if fit_intercept else columns_of(X)
    if not fit_intercept:
        B[:, 0] -= B[:, 2:].sum(axis=1)
    plain = LinearRegression(fit_intercept=fit_intercept).fit(B, y + 1e6)
    np.testing.assert_allclose(model.predict(X), plain.predict(B), rtol=1e-10)
    assert len(model.unpenalized_names_) == B.shape[1]


def test_lp_reaches_a_gap_and_methods_agree_in_the_limit(samples):
    X, y = samples
    for p in (1.0, 1.5, 2.0):
        assert LpMKLRegressor(VIEWS, p=p, **MARGIN).fit(X, y).duality_gap_ <= 1e-7
    uniform = FixedWeightsMKLRegressor(VIEWS, normalize="variance", **MARGIN).fit(X, y)
    limit = LpMKLRegressor(VIEWS, p=np.inf, **MARGIN).fit(X, y)
    np.testing.assert_allclose(limit.predict(X), uniform.predict(X), atol=1e-4)


def test_greedy_stages_have_coefficients_of_their_own(samples):
    X, y = samples
    model = GroupOMPRegressor(VIEWS, max_kernels=2, alpha=0.1, tol=0.0).fit(X, y)
    staged = list(model.staged_predict(X))
    plain = LinearRegression().fit(columns_of(X), y).predict(columns_of(X))
    np.testing.assert_allclose(staged[0], plain)
    np.testing.assert_allclose(staged[-1], model.predict(X))
    np.testing.assert_allclose(model.prefix(1).predict(X), staged[1])
    # The residual of a ridge fit is a multiple of its expansion.
    np.testing.assert_allclose(y - staged[-1], model.dual_coef_, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressorCV(VIEWS, n_alphas=8, tol=1e-5),
        LpMKLRegressorCV(VIEWS, loss="squared_error", Cs=[0.1, 1], ps=[2.0], tol=1e-5),
        GroupOMPRegressorCV(VIEWS, max_kernels=2),
    ],
)
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_folds_see_their_training_samples_alone(samples, model):
    X, y = samples
    search = clone(model).set_params(cv=KFold(3)).fit(X, y)
    chosen = dict(search.best_params_)
    plain = {
        "SpicyMKLRegressorCV": SpicyMKLRegressor(VIEWS, tol=1e-5),
        "LpMKLRegressorCV": LpMKLRegressor(VIEWS, loss="squared_error", tol=1e-5),
        "GroupOMPRegressorCV": GroupOMPRegressor(VIEWS, tol=0.0),
    }[type(model).__name__].set_params(**chosen)
    scores = cross_val_score(plain, X, y, cv=KFold(3))
    best = search.best_index_
    found = [search.cv_results_[f"split{k}_test_score"][best] for k in range(3)]
    np.testing.assert_allclose(found, scores, atol=5e-3)
    assert search.score(X, y) > 0.9


def test_a_category_that_a_fold_lacks_is_no_error(samples):
    X, y = samples
    X = X.assign(batch=np.where(np.arange(60) < 20, "u", X.batch))
    search = SpicyMKLRegressorCV(VIEWS, alphas=[0.5, 0.05], cv=KFold(3)).fit(X, y)
    assert np.isfinite(search.best_score_)


def test_a_category_for_almost_every_sample_is_refused(samples):
    X, y = samples
    X = X.assign(batch=[f"p{max(k, 20)}" for k in range(60)])
    with pytest.raises(ValueError, match="Column 'batch' holds 40 different values"):
        SpicyMKLRegressor(VIEWS).fit(X, y)


@pytest.mark.parametrize("storage", ["dense32", "lazy", "low_rank"])
def test_every_storage(samples, storage):
    X, y = samples
    expected = SpicyMKLRegressor(VIEWS, **SPARSE).fit(X, y)
    model = SpicyMKLRegressor(VIEWS, storage=storage, alpha=0.05, tol=1e-4).fit(X, y)
    assert model.duality_gap_ <= 1e-4
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=2e-2)


def test_several_targets_paths_and_files(samples, tmp_path):
    X, y = samples
    sparse = {"alpha": 0.02, "tol": 1e-7}
    Y = np.column_stack([y, -2.0 * X.age + y, X.b])
    shared = SpicyMKLRegressor(VIEWS, **sparse).fit(X, Y)
    apart = SpicyMKLRegressor(VIEWS, selection="separate", **sparse).fit(X, Y)
    assert shared.unpenalized_coef_.shape == apart.unpenalized_coef_.shape == (3, 3)
    alone = SpicyMKLRegressor(VIEWS, **sparse).fit(X, y)
    np.testing.assert_allclose(apart.predict(X)[:, 0], alone.predict(X), atol=1e-3)
    path = regularization_path(alone, X, y, n_alphas=3)
    assert not path.norms()[0].any()
    save(shared, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), shared.predict(X))
    np.testing.assert_array_equal(again.unpenalized_coef_, shared.unpenalized_coef_)


def test_arrays_clones_and_searches_of_scikit_learn(samples):
    X, y = samples
    table = X.drop(columns="batch").to_numpy()
    views = {"genes": ([0, 1, 2, 3], WIDTHS[0]), "age": Unpenalized(4)}
    model = SpicyMKLRegressor(views, alpha=0.05)
    assert model.fit(table, y).unpenalized_names_ == ["x4"]
    search = GridSearchCV(model, {"kernels__genes__sigma": [1.0, 2.0]}, cv=3)
    assert search.fit(table, y).best_score_ > 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"twice": lambda X: 2.0 * X.age + 3.0}, "collinear: '(age|twice)' is a comb"),
        ({"twice": lambda X: (X.batch == "u") * 1.0}, "collinear: .* and the intercep"),
        ({"twice": 3.5}, "'twice' is the same for all samples"),
        ({"twice": np.nan}, "NaN"),
    ],
)
def test_collinear_columns_are_named(samples, change, message):
    X, y = samples
    views = VIEWS | {"more": Unpenalized(["twice"])}
    with pytest.raises(ValueError, match=message):
        SpicyMKLRegressor(views).fit(X.assign(**change), y)


def test_sentences(samples):
    X, y = samples
    model = SpicyMKLRegressor(VIEWS, alpha=0.05).fit(X, y)
    with (
        pytest.warns(DataWarning, match="not seen in fit"),
        pytest.raises(ValueError, match="category in the unpenalized column 'batch'"),
    ):
        model.predict(X.assign(batch="x"))
    with pytest.raises(ValueError, match="does not support Unpenalized"):
        FixedWeightsMKLRegressor(VIEWS, kernel_weights="alignment").fit(X, y)
    with pytest.raises(ValueError, match="does not support Unpenalized"):
        OneClassMKL(VIEWS).fit(X)
    labels = np.where(y > 5.0, "high", "low")
    with pytest.raises(UnsupportedProblemError, match="require a smooth loss"):
        SpicyMKLClassifier(VIEWS, loss="hinge").fit(X, labels)
    with pytest.raises(UnsupportedProblemError, match="loss='squared_error'"):
        GroupOMPClassifier(VIEWS, loss="log_loss").fit(X, labels)
    with pytest.raises(UnsupportedProblemError, match="selection='separate'"):
        SpicyMKLClassifier(VIEWS, selection="shared").fit(X, X.batch)
    with pytest.raises(ValueError, match="their coefficients may be infinite"):
        SpicyMKLClassifier(VIEWS).fit(X, np.where(X.age > 50.0, "old", "young"))
    with pytest.raises(ValueError, match="All views in kernels= are Unpenalized"):
        SpicyMKLRegressor({"age": Unpenalized("age")}).fit(X, y)
    with pytest.raises(ValueError, match="View 'age'"):
        SpicyMKLRegressor(VIEWS | {"age": Unpenalized("agee")}).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*no active kernel")
@pytest.mark.parametrize(("size", "level"), [(1.0, 0.0), (2.0, 3.0), (0.1, 1e3)])
@pytest.mark.parametrize("estimator", [SpicyMKLRegressor, LpMKLRegressor])
def test_columns_may_fit_without_an_error(estimator, size, level):
    # Gaps of 1.1 to 1e275 of an objective of 1e-31, or of zero.
    treated = np.repeat([0.0, 1.0], 30)
    X = np.column_stack([treated, np.random.default_rng(0).normal(size=60)])
    kernels = {"u": Unpenalized([0]), "g": ([1], GaussianKernel("median"))}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = estimator(kernels, loss="squared_error").fit(X, size * treated + level)
    assert model.duality_gap_ == 0.0
    assert model.objective_ <= 1e-25 * (size + level) ** 2


def test_local_rademacher_beside_columns():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0) % 7
    kernels = {"u": Unpenalized([0]), "g": ([1], GaussianKernel("median"))}
    model = LocalRademacherMKLRegressor(kernels, loss="squared_error").fit(X, y)
    assert model.duality_gap_ < model.tol
    with pytest.raises(UnsupportedProblemError, match="loss='squared_error'"):
        LocalRademacherMKLRegressor(kernels, loss="huber").fit(X, y)
