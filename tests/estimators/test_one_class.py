"""One-class learning against cvxpy and against scikit-learn's machine."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from multikernel.estimators import OneClassMKL, stack_grams
from multikernel.exceptions import ConvergenceWarning, DictionaryWarning
from multikernel.gram import build_stack
from multikernel.kernels import (
    GaussianKernel,
    LinearKernel,
    ParameterGrid,
    median_dictionary,
)
from multikernel.solvers.one_class import OneClass, capped_simplex

KERNELS = ParameterGrid([GaussianKernel(0.7), GaussianKernel(2.0)], range(3))


def data(n=50):
    X = np.random.default_rng(0).standard_normal((n, 3))
    return X, build_stack(KERNELS, X, normalize="variance", storage="dense").stack


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, np.inf])
@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_it_is_the_optimum_of_the_dual(p, nu):
    _, stack = data()
    shares = np.random.default_rng(1).uniform(0.5, 1.5, 50)
    shares /= shares.sum()
    a = cp.Variable(50, nonneg=True)
    roots = [np.linalg.cholesky(K + 1e-10 * np.eye(50)) for K in stack.array]
    forms = cp.hstack([cp.sum_squares(root.T @ a) for root in roots])
    bounds = cp.Variable(len(roots))
    dual = {1.0: "inf", np.inf: 1}.get(p) or p / (p - 1.0)
    value = 0.5 * cp.norm(bounds, dual)
    limits = [a <= shares / nu, cp.sum(a) == 1, forms <= bounds]
    program = cp.Problem(cp.Minimize(value), limits)
    program.solve(solver=cp.CLARABEL)
    tol = 1e-6
    found = OneClass(nu, p, tol, 500).solve(stack, shares)
    assert found.duality_gap <= tol
    assert found.objective == pytest.approx(-program.value, rel=2.0 * tol)
    # Feasible, so that the gap is a proof.
    assert found.dual.sum() == pytest.approx(1.0)
    assert found.dual.min() >= 0.0
    assert (found.dual <= shares / nu * (1.0 + 1e-12)).all()
    if p < np.inf:
        assert np.linalg.norm(found.kernel_weights, p) == pytest.approx(1.0)


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_sparse_weights_take_few_machines(nu):
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    kernels = median_dictionary(X)
    stack = build_stack(kernels, X, normalize="variance", storage="dense").stack
    found = OneClass(nu, 1.0, 1e-4).solve(stack, np.full(len(X), 1.0 / len(X)))
    assert found.duality_gap <= 1e-4
    assert found.n_iter <= 12  # it was 22 and more for weights in closed form
    assert found.active.size <= 3  # of 34: a corner of the simplex
    # The proof is by the dual point that is handed out, whatever the model is.
    forms = stack.quadratic_forms(found.dual)
    value = -0.5 * forms.max()
    gap = (found.objective - value) / abs(found.objective)
    assert gap == pytest.approx(found.duality_gap, abs=1e-10)
    assert found.dual.max() <= 1.0 / (nu * len(X)) * (1.0 + 1e-12)


def test_an_optimum_of_zero_is_reached():
    X, _ = data()
    with pytest.warns(UserWarning, match="no active kernel"):
        model = OneClassMKL([LinearKernel()], nu=1.0, normalize="center").fit(X)
    assert model.duality_gap_ <= model.tol
    assert abs(model.objective_) < 1e-12


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_samples_around_the_origin_have_the_model_of_zero(p):
    """A machine in single precision made ten million steps, ten times, in vain."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    model = OneClassMKL([LinearKernel()], nu=0.2, p=p, tol=1e-6, normalize=None)
    with pytest.warns(UserWarning, match="no active kernel"):
        model.fit(X)
    assert model.n_iter_ <= 3
    assert model.history_["inner_steps"][-1] <= 100
    assert (model.objective_, model.duality_gap_, model.offset_) == (0.0, 0.0, 0.0)
    assert model.active_kernels_.size == 0
    np.testing.assert_array_equal(model.predict(X), 1)


# Values are of order one: what a tolerance asks for must stand above their rounding.
@pytest.mark.parametrize(("distance", "tol"), [(1.0, 1e-6), (1e-3, 1e-6), (1e-5, 1e-3)])
def test_samples_near_the_origin_have_their_distance(distance, tol):
    """On two lines the nearest mean to the origin is between them, symmetric."""
    across = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    X = np.column_stack([np.full(6, distance), across])
    model = OneClassMKL([LinearKernel()], nu=0.3, tol=tol, normalize=None).fit(X)
    assert model.duality_gap_ <= tol
    assert model.objective_ == pytest.approx(-0.5 * distance**2, rel=tol)


@pytest.mark.parametrize("storage", ["dense", "low_rank"])
def test_one_kernel_is_the_machine_of_scikit_learn(storage):
    X, _ = data()
    model = OneClassMKL(
        [GaussianKernel(1.0)], nu=0.2, tol=1e-8, normalize=None, storage=storage
    ).fit(X)
    machine = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.2, tol=1e-10).fit(X)
    # The machine's variables add up to nu n, ours to one.
    np.testing.assert_allclose(
        model.decision_function(X), machine.decision_function(X) / 10.0, atol=1e-5
    )
    sure = np.abs(model.decision_function(X)) > 1e-6
    np.testing.assert_array_equal(model.predict(X)[sure], machine.predict(X)[sure])


def test_nu_is_the_share_outside():
    X, _ = data(200)
    for nu in (0.05, 0.3):
        model = OneClassMKL(KERNELS, nu=nu, tol=1e-6).fit(X)
        values = model.decision_function(X)
        assert np.mean(values < -1e-6) <= nu + 1e-9
        assert np.mean(values <= 1e-6) >= nu - 1e-9
        np.testing.assert_allclose(
            model.score_samples(X) - model.offset_, values, atol=1e-12
        )


def test_a_kernel_of_noise_gets_less_weight_than_one_with_a_shape():
    random = np.random.default_rng(0)
    X = np.column_stack([random.standard_normal(100), 10.0 * random.uniform(size=100)])
    kernels = [GaussianKernel(1.0), LinearKernel()]
    model = OneClassMKL(ParameterGrid(kernels, [0, 1]), nu=0.1).fit(X)
    assert model.duality_gap_ <= 1e-3
    assert model.kernel_weights_.shape == (4,)
    np.testing.assert_allclose(
        model.contributions(X).sum(axis=1) - model.offset_,
        model.decision_function(X),
        atol=1e-10,
    )


def test_too_few_iterations_say_so():
    X, _ = data()
    with pytest.warns(ConvergenceWarning, match="OneClassMKL stopped at a relative"):
        OneClassMKL(KERNELS, tol=1e-9, max_iter=2).fit(X)


def test_weights_are_copies():
    X, _ = data()
    counts = np.random.default_rng(2).integers(0, 3, 50)
    model = OneClassMKL(KERNELS, 0.3, tol=1e-8, storage="dense")
    weighted = model.fit(X, sample_weight=counts).decision_function(X)
    copied = model.fit(np.repeat(X, counts, axis=0)).decision_function(X)
    np.testing.assert_allclose(weighted, copied, atol=1e-6)


def test_the_nearest_point_between_zero_and_the_caps():
    random = np.random.default_rng(0)
    caps = random.uniform(0.05, 0.3, 12)
    a = random.standard_normal(12)
    x = cp.Variable(12)
    limits = [x >= 0, x <= caps, cp.sum(x) == 1]
    cp.Problem(cp.Minimize(cp.sum_squares(x - a)), limits).solve()
    np.testing.assert_allclose(capped_simplex(a, caps), x.value, atol=1e-5)


def test_matrices_can_be_given():
    X, stack = data()
    given = stack_grams(list(stack.array))
    model = OneClassMKL("precomputed", 0.2, normalize=None, tol=1e-8).fit(given)
    plain = OneClassMKL(KERNELS, 0.2, tol=1e-8, storage="dense").fit(X)
    np.testing.assert_allclose(
        model.decision_function(given), plain.decision_function(X), atol=1e-4
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_tolerance_below_rounding_ends():
    samples = np.random.default_rng(0).standard_normal((24, 4))
    model = OneClassMKL(tol=1e-300, max_iter=5).fit(samples)
    assert 0.0 <= model.duality_gap_ < 0.1


def test_nothing_is_no_sample():
    with pytest.raises(ValueError, match="requires X, got None"):
        OneClassMKL().fit(None)


@pytest.mark.parametrize("nu", [1e-20, 1e-300])
def test_any_share_below_one_sample_is_the_same(nu):
    X, _ = data()
    found = [OneClassMKL(KERNELS, share).fit(X) for share in (0.01, nu)]
    assert found[1].duality_gap_ <= found[1].tol
    np.testing.assert_allclose(found[1].objective_, found[0].objective_, rtol=1e-12)
    np.testing.assert_allclose(found[1].dual_coef_, found[0].dual_coef_, atol=1e-12)


def test_equal_samples_are_inside():
    X = np.ones((20, 3))
    model = OneClassMKL([GaussianKernel(1.0), LinearKernel()], normalize=None)
    with pytest.warns(DictionaryWarning, match="2 of 2 kernels are nearly constant"):
        model.fit(X)
    assert (model.predict(X) == 1).all()


def far_rows(X, deviations):
    """Return rows that are far out in one column each, to both sides, and elsewhere."""
    center, size = X.mean(axis=0), X.std(axis=0)
    alone = np.diag(deviations * size)
    corners = deviations * size * np.array([-1.0, 1.0])[:, None]
    return center + np.vstack([alone, -alone, corners])


@pytest.mark.parametrize("n_columns", [1, 3, 8, 9, 40])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_far_row_is_unusual_in_every_direction(n_columns, p):
    """With the linear kernel the farthest row had the highest value of all."""
    random = np.random.default_rng(0)
    X = StandardScaler().fit_transform(random.exponential(size=(120, n_columns)))
    model = OneClassMKL(nu=0.1, p=p).fit(X)
    usual = model.decision_function(X)
    assert np.mean(usual >= 0.0) >= 0.85
    for deviations in (15.0, 1e3, 1e6):
        assert model.decision_function(far_rows(X, deviations)).max() < 0.0
    # The mean is as usual as anything.
    assert model.predict(X.mean(axis=0, keepdims=True)) == 1


def test_units_get_a_warning_and_no_row_beyond_all_others_passes():
    random = np.random.default_rng(0)
    X = random.standard_normal((120, 4)) * [1.0, 5.0, 20.0, 60.0] + [10, 50, 100, 300]
    model = OneClassMKL(nu=0.1)
    with pytest.warns(
        DictionaryWarning, match=r"only on 'x3'.* 10 times .*standardize"
    ):
        model.fit(X)
    beyond = 10.0 * X.max(axis=0, keepdims=True)
    assert model.decision_function(beyond) < model.decision_function(X).min()
    assert model.decision_function(far_rows(X, 300.0)).max() < 0.0


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("X", [np.ones((9, 2)), np.eye(9)], ids=["constant", "alone"])
def test_default_kernels_are_never_without_any(X):
    many = np.hstack([X, np.zeros((9, 8))])
    for samples in (X, many):
        names = OneClassMKL().fit(samples).kernel_names_
        assert names
        assert not any("linear" in name for name in names)
