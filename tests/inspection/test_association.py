"""Tests of association: uniform under the null, and equal to other computations."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import f, false_discovery_control, kstest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    HKLRegressor,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLOrdinal,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
    stack_grams,
)
from multikernel.exceptions import DataWarning, DegenerateKernelWarning
from multikernel.inspection import kernel_tests
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
    LinearKernel,
    Unpenalized,
    per_column,
)

CURVES = per_column(GaussianKernel(1.0), 4)


def sample(seed, n=60, d=4):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    X[:, 1] += 0.8 * X[:, 0]
    return X, random


def test_a_linear_kernel_is_the_test_of_its_column():
    X, random = sample(0)
    y = X[:, 2] + 2.0 * random.normal(size=60)
    lines = per_column(LinearKernel(), 4)
    tests = kernel_tests(lines, X, y, covariates=X[:, :1], n_permutations=1)
    for column in (1, 2, 3):
        small = np.column_stack([np.ones(60), X[:, 0]])
        large = np.column_stack([small, X[:, column]])
        left = [np.linalg.lstsq(B, y, rcond=None)[1][0] for B in (small, large)]
        ratio = (left[0] - left[1]) / (left[1] / 57.0)
        expected = f(1, 57).sf(ratio)
        assert tests.p_values[column] == pytest.approx(expected, rel=1e-4)


def test_scores_of_classes_are_those_of_logistic_regression():
    X, random = sample(1, n=80)
    y = X[:, 0] + random.normal(size=80) > 0.7
    tests = kernel_tests(CURVES, X, y, covariates=X[:, [3]], n_permutations=1)
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X[:, [3]], y)
    rho = y - fit.predict_proba(X[:, [3]])[:, 1]
    V = np.diag(fit.predict_proba(X[:, [3]]).prod(axis=1))
    B = np.column_stack([np.ones(80), X[:, 3]])
    P = V - V @ B @ np.linalg.solve(B.T @ V @ B, B.T @ V)
    for column in range(4):
        d = X[:, column]
        K = np.exp(-((d[:, None] - d) ** 2) / 2.0)
        K /= np.trace(K) / 80 - K.mean()
        assert tests.statistics[column] == pytest.approx(rho @ K @ rho, rel=1e-3)
        # The mean and the variance of the statistic's own distribution.
        draws = np.random.default_rng(0).normal(size=(4000, 80))
        root = np.linalg.cholesky(P + 1e-12 * np.eye(80))
        simulated = np.einsum("ai,ij,aj->a", draws @ root.T, K, draws @ root.T)
        share = np.mean(simulated >= tests.statistics[column])
        assert tests.p_values[column] == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    "kind",
    ["normal", pytest.param("heavy", marks=pytest.mark.slow), "classes", "covariates"],
)
def test_p_values_are_uniform_without_association(kind):
    values = []
    for seed in range(120):
        X, random = sample(seed, n=40)
        y = random.normal(size=40)
        if kind == "heavy":
            y = random.standard_t(2, size=40)
        if kind == "classes":
            y = random.permutation(np.arange(40) < 8)
        covariates = X[:, [3]] if kind == "covariates" else None
        tests = kernel_tests(
            CURVES,
            X,
            y + 3.0 * X[:, 3] if kind == "covariates" else y,
            covariates=covariates,
            n_permutations=99,
            random_state=seed,
        )
        row = [tests.permutation_p[0], tests.family_wise_p.min()]
        exact = kind in ("normal", "covariates")
        values.append([*row, tests.p_values[0] if exact else row[0]])
        strength = np.sqrt(tests.statistics.max()) / 40.0
        assert tests.strengths.shape == (99,)
        values[-1].append(float(strength > tests.strengths[94]))
    p, family, analytic, entered = np.array(values).T
    for each in (p, family, analytic):
        assert kstest(each, "uniform").pvalue > 0.002
    assert entered.mean() < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 120)


@pytest.mark.filterwarnings("ignore:SpicyMKLRegressor has no active kernel")
def test_no_kernel_enters_at_the_strength_of_noise():
    X, random = sample(5)
    y = random.normal(size=60)
    tests = kernel_tests(CURVES, X, y, n_permutations=199, random_state=0)
    entering = np.sqrt(tests.statistics.max()) / 60.0
    for factor, active in ((1.001, 0), (0.98, 1)):
        alpha = factor * entering
        model = SpicyMKLRegressor(CURVES, alpha=alpha, tol=1e-8)
        assert model.fit(X, 50.0 * y).active_kernels_.size == active


def test_groups_keep_samples_in_their_batch():
    X, random = sample(2)
    batch = np.repeat(["a", "b"], 30)
    y = 5.0 * (batch == "a") + random.normal(size=60)
    X[:, 0] = 2.0 * (batch == "a") + random.normal(size=60)
    free = kernel_tests(CURVES, X, y, random_state=0)
    within = kernel_tests(CURVES, X, y, groups=batch, random_state=0)
    assert free.family_wise_p[0] < 0.01
    assert within.permutation_p[0] > 0.05


def test_constant_kernels_harm_no_other():
    X, random = sample(0)
    y = X[:, 0] + random.normal(size=60)
    flat, far = X.copy(), X.copy()
    flat[:, 1], far[:, 1] = 3.0, 1e8 + X[:, 1]
    for kernel, table in ((GaussianKernel(1.0), flat), (LinearKernel(), far)):
        with pytest.warns(DegenerateKernelWarning, match="1 of 4"):
            tests = kernel_tests(per_column(kernel, 4), table, y, n_permutations=19)
        assert tests.p_values[1] == tests.permutation_p[1] == tests.q_values[1] == 1.0
        assert tests.family_wise_p[1] == 1.0
        others = [0, 2, 3]
        alone = kernel_tests(per_column(kernel, 4), X, y, n_permutations=19)
        np.testing.assert_allclose(
            tests.p_values[others], alone.p_values[others], rtol=1e-6
        )
        assert tests.q_values[0] == pytest.approx(4.0 * tests.p_values[0])


@pytest.mark.filterwarnings("ignore:.*can only memorize")
def test_kernels_that_no_permutation_changes():
    X, random = sample(0)
    y = random.normal(size=60)
    grams = stack_grams({"identity": np.eye(60), "line": np.outer(X[:, 0], X[:, 0])})
    model = SpicyMKLRegressor("precomputed", normalize=None)
    tests = kernel_tests(model, grams, y, n_permutations=19, random_state=0)
    assert tests.p_values[0] == tests.permutation_p[0] == 1.0
    assert tests.family_wise_p[0] == 1.0 > tests.p_values[1]
    same = kernel_tests(CURVES, X, y, covariates=X[:, [0]], n_permutations=19)
    line = kernel_tests(
        per_column(LinearKernel(), 4), X, y, covariates=X[:, [0]], n_permutations=19
    )
    assert line.p_values[0] == line.permutation_p[0] == 1.0 > same.p_values[0]


@pytest.mark.parametrize("covariates", [False, True])
@pytest.mark.parametrize("kind", ["rows", "coin", "repeats"])
def test_ties_within_groups_count_as_at_least_as_large(kind, covariates):
    X, random = sample(1)
    patient = np.repeat([f"p{k}" for k in range(20)], 3)
    y = random.normal(size=60)
    if kind == "rows":
        patient = np.arange(60)
    if kind == "coin":
        y = np.repeat(random.permutation(np.arange(20) < 10), 3)
    if kind == "repeats":
        X = np.repeat(X[:20], 3, axis=0)
    views = {"a": [0, 1], "b": [2, 3]}
    given = {"covariates": np.repeat(X[::3, [3]], 3, axis=0)} if covariates else {}
    with pytest.warns(UserWarning, match="use permute='groups'"):
        tests = kernel_tests(
            views, X, y, groups=patient, n_permutations=19, random_state=0, **given
        )
    assert (tests.permutation_p == 1.0).all()
    assert (tests.family_wise_p == 1.0).all()
    assert set(tests.view_p.values()) == {(1.0, 1.0)}
    assert np.isnan(tests.p_values).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["rows", "coin", "repeats", "sizes"])
def test_exchanged_groups_keep_their_level(kind):
    rejected = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        sizes = random.integers(1, 4, 24) if kind == "sizes" else np.full(24, 2)
        sizes = np.ones(24, dtype=int) if kind == "rows" else sizes
        patient = np.repeat(np.arange(24), sizes)
        X, y = random.normal(size=(24, 3))[patient], random.normal(size=24)[patient]
        y = (y > 0.0).astype(float) if kind == "coin" else y
        y = y + 0.1 * random.normal(size=y.size) if kind == "repeats" else y
        order = random.permutation(patient.size)
        tests = kernel_tests(
            per_column(GaussianKernel(1.0), 3),
            X[order],
            y[order],
            groups=patient[order],
            permute="groups",
            n_permutations=39,
            random_state=seed,
        )
        rejected.append(tests.family_wise_p.min() <= 0.05)
    assert np.mean(rejected) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 60)


def test_exchanged_groups_find_what_differs_between_them():
    random = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 4)
    X = random.normal(size=(30, 4))[patient]
    y = X[:, 2] + 0.5 * random.normal(size=30)[patient] + random.normal(size=120)
    tests = kernel_tests(
        CURVES,
        X,
        y,
        groups=patient,
        permute="groups",
        n_permutations=99,
        random_state=0,
    )
    assert tests.family_wise_p.argmin() == 2
    assert tests.family_wise_p[2] == 0.01


def test_covariates_take_their_part_away():
    X, random = sample(3)
    table = pd.DataFrame({"age": X[:, 0], "site": random.choice(["x", "y"], 60)})
    y = 3.0 * X[:, 0] + (table["site"] == "x") + random.normal(size=60)
    lines = per_column(LinearKernel(), 4)
    assert kernel_tests(lines, X, y, random_state=0).family_wise_p[0] < 0.01
    left = kernel_tests(lines, X, y, covariates=table, random_state=0)
    assert left.statistics[0] < 1e-9 * left.statistics[1]
    with pytest.raises(ValueError, match="collinear"):
        kernel_tests(lines, X, y, covariates=np.column_stack([X[:, 0], 2 * X[:, 0]]))
    # Such a covariate was once taken for a constant.
    far = X[:, :1] + 1.7e12
    moved, near = (
        kernel_tests(lines, X, y, covariates=table, random_state=0)
        for table in (far, far - 1.7e12)
    )
    np.testing.assert_allclose(moved.statistics, near.statistics, rtol=1e-9)
    np.testing.assert_array_equal(moved.family_wise_p, near.family_wise_p)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Timestamp("2020") + pd.to_timedelta(np.arange(60) % 3, "D"), "holds dates"),
        (pd.to_timedelta(np.arange(60) % 3, "D"), "holds durations"),
        (1j * np.arange(60), "complex"),
        (np.ma.masked_less(np.arange(60.0), 1.0), "masked values"),
        (["u", None] * 30, "contains NaN at row 1"),
        ([f"p{row}" for row in range(60)], "60 different values in 60 samples"),
    ],
)
def test_covariates_are_read_as_unpenalized_columns(column, message):
    X, _ = sample(3)
    is_masked = isinstance(column, np.ma.MaskedArray)
    table = column if is_masked else pd.DataFrame({"covariate": column})
    with pytest.raises(ValueError, match=message):
        kernel_tests(per_column(LinearKernel(), 4), X, X[:, 0], covariates=table)


def test_covariates_with_an_odd_cell_are_warned_of():
    X, random = sample(3)
    cells = np.resize(["1.5", "2", "n/a", "3"], 60)
    table = pd.DataFrame({"covariate": cells})
    with pytest.warns(DataWarning, match="holds 'n/a' at row 2, and numbers in most"):
        kernel_tests(
            per_column(LinearKernel(), 4), X, random.normal(size=60), covariates=table
        )


def test_unpenalized_columns_of_the_model_are_covariates():
    X, random = sample(5)
    table = pd.DataFrame({"a": X[:, 0] + X[:, 1], "age": X[:, 1], "b": X[:, 2]})
    y = 3.0 * X[:, 1] + random.normal(size=60)
    kernels = {"a": (["a"], LinearKernel()), "b": (["b"], LinearKernel())}
    free = kernels | {"age": Unpenalized(["age"])}
    model = SpicyMKLRegressor(free)
    draws = {"n_permutations": 19, "random_state": 0}
    assert kernel_tests(kernels, table, y, **draws).p_values[0] < 1e-3
    tests = kernel_tests(model, table, y, **draws)
    right = kernel_tests(kernels, table, y, covariates=table[["age"]], **draws)
    assert_allclose(tests.p_values, right.p_values, rtol=1e-6)
    assert_allclose(tests.permutation_p, right.permutation_p)
    # Beside covariates of the call both count.
    more = kernel_tests(model, table, y, covariates=table[["b"]], **draws)
    both = kernel_tests(kernels, table, y, covariates=table[["age", "b"]], **draws)
    assert_allclose(more.statistics, both.statistics, atol=1e-6)
    with pytest.raises(ValueError, match="collinear"):
        kernel_tests(model, table, y, covariates=table[["age"]])


def test_views_interactions_pipelines_and_matrices():
    X, random = sample(4, n=100, d=8)
    y = X[:, 2] * X[:, 5] + 0.3 * random.normal(size=100)
    pairs = Interactions(per_column(GaussianKernel(1.0), 8))
    tests = kernel_tests(pairs, X, y, n_permutations=199, random_state=0)
    assert tests.kernel_names[int(tests.family_wise_p.argmin())] == "x2 × x5"
    assert tests.summary()["kernel"][0] == "x2 × x5"
    views = {"early": [0, 1, 2], "late": [3, 4, 5, 6, 7]}
    model = make_pipeline(StandardScaler(), SpicyMKLClassifier(views))
    late = kernel_tests(model, X, X[:, 6] > 0.0, n_permutations=99, random_state=0)
    assert late.view_p["late"][1] == 0.01
    assert late.summary("view")["view"].tolist() == ["late", "early"]
    assert "late" in repr(late)
    grams = stack_grams({"a": np.outer(X[:, 0], X[:, 0]), "b": X @ X.T})
    given = SpicyMKLRegressor("precomputed")
    named = kernel_tests(given, grams, X[:, 0], n_permutations=99, random_state=0)
    assert named.kernel_names == ("a", "b")
    assert named.family_wise_p[0] == 0.01


def test_times_to_an_event():
    X, random = sample(8, n=90)
    log_time = 1.5 * X[:, 2] + random.logistic(size=90)
    end = random.normal(1.0, 1.0, size=90)
    y = pd.DataFrame(
        {"event": log_time <= end, "time": np.exp(np.minimum(log_time, end))}
    )
    model = SpicyMKLSurvival(CURVES)
    tests = kernel_tests(model, X, y, n_permutations=199, random_state=0)
    assert tests.family_wise_p.argmin() == 2
    assert tests.family_wise_p[2] == 0.005
    assert tests.p_values[2] < 1e-4
    aside = kernel_tests(model, X, y, covariates=X[:, [2]], random_state=0)
    assert aside.family_wise_p[2] > 0.05
    levels = []
    for seed in range(80):
        X, random = sample(seed, n=40)
        events = {"event": random.random(40) < 0.6, "time": random.exponential(size=40)}
        null = kernel_tests(
            model, X, pd.DataFrame(events), n_permutations=59, random_state=seed
        )
        levels.append([null.permutation_p[0], null.p_values[0]])
    for p in np.array(levels).T:
        assert kstest(p, "uniform").pvalue > 0.002


def test_several_outputs_are_permuted_together():
    X, random = sample(6)
    Y = np.column_stack([X[:, 1], random.normal(size=60)])
    tests = kernel_tests(CURVES, X, Y, n_permutations=99, random_state=0)
    assert tests.family_wise_p[1] == 0.01
    assert np.isnan(tests.p_values).all()
    assert tests.q_values[1] <= 0.04
    classes = kernel_tests(CURVES, X, np.digitize(X[:, 1], [-0.5, 0.5]), random_state=0)
    assert classes.family_wise_p[1] == 0.001


def test_sentences():
    X, random = sample(7)
    y = random.normal(size=60)
    with pytest.raises(ValueError, match="nodes of a graph"):
        kernel_tests(HKLRegressor(), X, y)
    with pytest.raises(ValueError, match="requires a smooth loss"):
        kernel_tests(SpicyMKLRegressor(CURVES, loss="epsilon_insensitive"), X, y)
    with pytest.raises(ValueError, match=r"one label per sample, shape \(60,\)"):
        kernel_tests(CURVES, X, y, groups=np.zeros(59))
    with pytest.raises(
        ValueError, match=r"groups contains NaN at row 0, a missing label \(None\)"
    ):
        kernel_tests(CURVES, X, y, groups=[None, *"a" * 59])
    with pytest.raises(ValueError, match="groups=None"):
        kernel_tests(CURVES, X, y, permute="groups")
    with pytest.raises(ValueError, match="permute must be"):
        kernel_tests(CURVES, X, y, permute="blocks")
    with pytest.raises(ValueError, match="no two of the 2 groups have the same size"):
        kernel_tests(CURVES, X, y, groups=np.arange(60) < 20, permute="groups")
    with pytest.raises(ValueError, match="groups contains one: pass"):
        kernel_tests(CURVES, X, y, groups=np.ones(60), permute="groups")
    for targets in (np.full(60, 5.0), np.full(60, 0.1 + 0.2), np.ones((60, 2))):
        with pytest.raises(ValueError, match="y is constant"):
            kernel_tests(SpicyMKLRegressor(CURVES), X, targets)
    with pytest.raises(ValueError, match="each of the 60 samples, got 59 rows"):
        kernel_tests(CURVES, X, y, covariates=X[:59])
    line, many = 3.0 * X[:, 0] + 0.1, random.normal(size=(60, 59))
    for targets, covariates in ((line, X[:, :1]), (y, many)):
        with pytest.raises(ValueError, match="explain y exactly"):
            kernel_tests(CURVES, X, targets, covariates=covariates)
    balanced = SpicyMKLClassifier(CURVES, class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight"):
        kernel_tests(balanced, X, y > 0.0)
    tests = kernel_tests(CURVES, X, y, n_permutations=9, random_state=0)
    with pytest.raises(ValueError, match="must be 'kernel', or 'view'"):
        tests.summary("view")


@pytest.mark.parametrize("analytic", [True, False])
def test_false_discoveries_are_those_of_the_rule(analytic):
    X, random = sample(6)
    y = X[:, 0] + X[:, 2] + random.normal(size=60)
    draws = {"n_permutations": 99, "random_state": 0}
    tests = kernel_tests(CURVES, X, y, analytic=analytic, **draws)
    p = tests.p_values if analytic else tests.permutation_p
    rates = [p.size * each / np.count_nonzero(p <= each) for each in p]
    expected = [
        min(r for r, q in zip(rates, p, strict=True) if q >= each) for each in p
    ]
    np.testing.assert_allclose(tests.q_values, np.minimum(expected, 1.0))


@pytest.mark.parametrize("model", [SpicyMKLOrdinal(), OneClassMKL()])
def test_an_estimator_without_a_choice_of_loss_is_refused_by_name(model):
    X = np.random.default_rng(0).normal(size=(30, 2))
    message = f"does not support {type(model).__name__}: pass a classifier"
    with pytest.raises(ValueError, match=message):
        kernel_tests(model, X, np.arange(30) % 3)


def genotypes(seed, n=60, d=25):
    random = np.random.default_rng(seed)
    kernels = Interactions(per_column(GaussianKernel(1.0), d), weight=1.0)
    return kernels, random.binomial(2, 0.4, (n, d)).astype(float), random


def test_forms_of_some_kernels_at_a_time_give_the_same_p_values(monkeypatch):
    kernels, X, random = genotypes(0)
    y = X[:, 0] * X[:, 1] + random.normal(size=60)
    curve = GaussianKernel(1.0)
    views = {
        "a": ([0, 1], curve),
        "b": ([2], [curve, LinearKernel()]),
        "c": ([3], curve),
    }
    few = X[:, :4]
    cases = [(kernels, X), (CURVES, few), (views, few), (Interactions(views), few)]
    for model, table in cases:
        whole = kernel_tests(model, table, y, n_permutations=99, random_state=1)
        with monkeypatch.context() as patch:
            patch.setattr("multikernel.certificates.scores.MAX_ENTRIES", 700)
            parts = kernel_tests(model, table, y, n_permutations=99, random_state=1)
        for name in ("permutation_p", "family_wise_p", "q_values"):
            assert_array_equal(getattr(parts, name), getattr(whole, name))
        assert_allclose(parts.strengths, whole.strengths, rtol=1e-12)
        assert parts.view_p == whole.view_p


def test_many_kernels_are_listed_by_the_largest_statistics(monkeypatch):
    kernels, X, random = genotypes(1)
    y = X[:, 0] * X[:, 1] + random.normal(size=60)
    options = {"n_permutations": 39, "random_state": 2}
    every = kernel_tests(kernels, X, y, **options)
    monkeypatch.setattr("multikernel.inspection.association.MANY", 100)
    tests = kernel_tests(kernels, X, y, **options)
    assert tests.n_kernels == 325
    listed = tests.kernel_index
    # The draws' maxima come from the forms of all kernels; the data are one draw.
    entry = np.sqrt(every.statistics) / 60.0
    maxima = np.append(every.strengths, entry.max())
    expected = np.mean(maxima >= entry[:, None] * (1.0 - 1e-9), axis=1)
    assert_allclose(tests.family_wise_p, expected[listed])
    assert_array_equal(
        np.setdiff1d(np.arange(325), listed), np.flatnonzero(expected == 1)
    )
    assert 0 < listed.size < 325
    assert tests.kernel_names == tuple(every.kernel_names[m] for m in listed)
    assert_allclose(tests.p_values, every.p_values[listed])
    assert_allclose(tests.permutation_p, every.permutation_p[listed])
    assert_allclose(tests.strengths, every.strengths)
    # q-values of the whole list, in which all other kernels have p = 1.
    p = np.ones(325)
    p[listed] = tests.p_values
    assert_allclose(tests.q_values, false_discovery_control(p)[listed])
    assert "325 kernels" in repr(tests)
    assert len(tests.summary()) == listed.size


def test_many_kernels_have_an_exact_level(monkeypatch):
    monkeypatch.setattr("multikernel.inspection.association.MANY", 50)
    smallest = []
    for seed in range(200):
        kernels, X, random = genotypes(seed, n=40, d=12)
        y = random.standard_t(3, size=40)
        options = {"n_permutations": 19, "random_state": seed, "analytic": False}
        smallest.append(kernel_tests(kernels, X, y, **options).family_wise_p.min())
    shares = np.mean(np.array(smallest)[:, None] <= [0.05, 0.2, 0.5], axis=0)
    expected = np.array([0.05, 0.2, 0.5])
    spread = np.sqrt(expected * (1.0 - expected) / 200)
    assert np.all(np.abs(shares - expected) <= 3.0 * spread)
