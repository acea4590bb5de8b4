"""Searches with separate selections: a strength for every target."""

import io

import numpy as np
import pytest

from multikernel import ProgressBar, load, report, save
from multikernel.certificates import alpha_max, largest_alphas
from multikernel.display import RegularizationPathDisplay
from multikernel.estimators import SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.estimators.search import (
    search as search_module,
    targets,
)
from multikernel.estimators.search.scores import Scores
from multikernel.exceptions import ConvergenceWarning, SearchWarning
from multikernel.gram import DenseStack, PartStack, ScaledStack
from multikernel.kernels import GaussianKernel, ParameterGrid
from multikernel.losses import SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1

KERNELS = ParameterGrid([GaussianKernel(1.0)], range(4))
ALPHAS = [0.6, 0.2, 0.06, 0.02, 0.006]
pytestmark = pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    Y = np.sin(2.0 * X[:, [1, 3]]) @ rng.standard_normal((2, 4))
    Y += rng.standard_normal(Y.shape) * np.array([0.1, 0.3, 1.0, 3.0])
    return X, Y


def search(**settings):
    given = {"alphas": ALPHAS, "cv": 3, "selection": "separate"} | settings
    return SpicyMKLRegressorCV(KERNELS, **given)


@pytest.mark.parametrize(
    ("scoring", "loss"),
    [
        (None, "squared_error"),
        ("neg_mean_squared_error", "squared_error"),
        ("neg_max_error", "squared_error"),
        (None, "quantile"),
        pytest.param(None, "epsilon_insensitive", marks=pytest.mark.slow),
    ],
)
def test_without_a_standard_error_targets_choose_as_if_alone(
    scoring, loss, data, monkeypatch
):
    monkeypatch.setattr(targets, "ERRORS", -1.0)
    X, Y = data
    # Targets of other losses are solved for one by one.
    Y = Y if loss == "squared_error" else Y[:, :2]
    together = search(scoring=scoring, loss=loss).fit(X, Y)
    alone = [search(scoring=scoring, loss=loss).fit(X, y) for y in Y.T]
    np.testing.assert_allclose(together.alpha_, [one.alpha_ for one in alone])
    np.testing.assert_array_equal(
        together.best_index_, [one.best_index_ for one in alone]
    )
    assert np.unique(together.best_index_).size > 1
    reached = np.mean([one.best_score_ for one in alone])
    assert together.best_score_ == pytest.approx(reached, abs=1e-2)
    weights = [one.kernel_weights_ for one in alone]
    np.testing.assert_allclose(together.kernel_weights_, weights, atol=0.05)
    assert (together.duality_gap_ <= together.tol).all()
    labels = [one.best_params_["alpha"] for one in alone]
    assert together.best_params_["alpha"].tolist() == labels
    assert together.target_scores_.shape == (Y.shape[1], 5)
    for scores, place in zip(
        together.target_scores_, together.best_index_, strict=True
    ):
        assert scores[place] == np.nanmax(scores)


def test_models_are_fits_at_the_strengths_and_paths_end_there(data):
    X, Y = data
    model = search().fit(X, Y)
    for t, y in enumerate(Y.T):
        alpha = model.best_params_["alpha"][t]
        alone = SpicyMKLRegressor(KERNELS, alpha=alpha).fit(X, y)
        assert model.alpha_[t] == pytest.approx(alone.alpha_)
        gap = (model.objective_[t] - alone.objective_) / alone.objective_
        assert abs(gap) <= model.tol
        np.testing.assert_allclose(model.predict(X)[:, t], alone.predict(X), atol=0.2)
    path, last = model.path_, int(model.best_index_.max())
    assert path.norms.shape == (4, last + 1, path.kernels.size)
    norms = model.block_norms_[:, path.kernels]
    np.testing.assert_allclose(path.norms[:, -1], norms)
    np.testing.assert_allclose(path.objectives[:, -1], model.objective_)
    for t, place in enumerate(model.best_index_):
        assert (path.norms[t, place:] == path.norms[t, -1]).all()
    display = RegularizationPathDisplay.from_estimator(model)
    assert display.best_alpha == ALPHAS[last]


def test_blocks_of_targets_and_folds_one_by_one_change_nothing(data, monkeypatch):
    X, Y = data
    together = search(alphas=None, n_alphas=8).fit(X, Y)
    monkeypatch.setattr(targets, "BLOCK_BYTES", 1.0)
    apart = search(alphas=None, n_alphas=8, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(apart.best_index_, together.best_index_)
    np.testing.assert_allclose(apart.predict(X), together.predict(X), atol=0.1)
    monkeypatch.setattr("multikernel.estimators.search.folds.ALL_FOLDS_BYTES", 0.0)
    one_by_one = search(alphas=None, n_alphas=8).fit(X, Y)
    np.testing.assert_array_equal(one_by_one.best_index_, together.best_index_)
    assert np.isfinite(one_by_one.target_scores_).all()
    assert np.isnan(together.target_scores_).any()


def test_offsets_are_of_their_targets(data, monkeypatch):
    X, Y = data
    offset = np.random.default_rng(1).standard_normal(Y.shape)
    plain = search(alphas=None, n_alphas=8).fit(X, Y)
    together = search(alphas=None, n_alphas=8).fit(X, Y + offset, offset=offset)
    monkeypatch.setattr(targets, "BLOCK_BYTES", 1.0)
    apart = search(alphas=None, n_alphas=8).fit(X, Y + offset, offset=offset)
    for model in (together, apart):
        # What targets leave out says that some end before others.
        assert np.isnan(model.target_scores_).any()
        assert model.best_index_.shape == (4,)
    np.testing.assert_array_equal(apart.best_index_, together.best_index_)
    np.testing.assert_allclose(apart.predict(X), together.predict(X), atol=0.1)
    assert np.corrcoef(together.predict(X)[:, 0], plain.predict(X)[:, 0])[0, 1] > 0.95


def test_folds_hold_no_kernels_of_their_own(data, monkeypatch):
    X, Y = data
    seen = []
    cut = search_module.fold_of_targets

    def spy(fold, block):
        seen.append(fold)
        return cut(fold, block)

    monkeypatch.setattr(search_module, "fold_of_targets", spy)
    monkeypatch.setattr(targets, "BLOCK_BYTES", 1.0)
    search(storage="dense").fit(X, Y)
    parts = [fold.training.stack for fold in seen]
    parts = [part.stack if isinstance(part, ScaledStack) else part for part in parts]
    assert all(isinstance(part, PartStack) for part in parts)
    assert len({id(part.parent) for part in parts}) == 1


def test_the_default_grid_is_free_of_the_units_of_targets(data):
    X, Y = data
    units = np.array([1.0, 1e3, 1e-3, 1.0])
    plain = search(alphas=None, n_alphas=6).fit(X, Y)
    scaled = search(alphas=None, n_alphas=6).fit(X, Y * units)
    np.testing.assert_allclose(scaled.alphas_, plain.alphas_)
    np.testing.assert_allclose(scaled.alpha_, plain.alpha_ * units)
    np.testing.assert_allclose(scaled.predict(X) / units, plain.predict(X), rtol=1e-6)


def test_one_target_and_functions_that_score_have_one_strength(data):
    X, Y = data
    assert np.ndim(search().fit(X, Y[:, 0]).alpha_) == 0
    all_together = search(scoring=lambda model, X, y: model.score(X, y)).fit(X, Y)
    assert np.ndim(all_together.best_index_) == 0
    assert not hasattr(all_together, "target_scores_")
    assert np.ndim(search(selection="shared").fit(X, Y).best_index_) == 0


def test_factors_in_place_of_matrices(data, monkeypatch):
    monkeypatch.setattr(targets, "ERRORS", -1.0)
    X, Y = data
    dense, factors = (
        search(storage=storage).fit(X, Y) for storage in ("dense", "low_rank")
    )
    np.testing.assert_array_equal(dense.best_index_, factors.best_index_)
    assert (factors.duality_gap_ <= factors.tol).all()


def test_no_refit_and_sample_weights(data):
    X, Y = data
    weights = np.arange(1, 61) % 4
    copies = np.repeat(np.arange(60), weights)
    folds = [(np.arange(40), np.arange(40, 60))]
    twice = [(np.flatnonzero(copies < 40), np.flatnonzero(copies >= 40))]
    weighted = search(cv=folds, refit=False).fit(X, Y, sample_weight=weights)
    copied = search(cv=twice, refit=False).fit(X[copies], Y[copies])
    assert not hasattr(weighted, "path_")
    np.testing.assert_allclose(
        weighted.target_scores_, copied.target_scores_, atol=0.05
    )


def test_a_stopped_search_chooses_among_what_is_scored(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr(targets, "BLOCK_BYTES", 1.0)
    lines = []

    def stop(line):
        lines.append(line)
        return line.done > 0.3

    with pytest.warns(ConvergenceWarning, match="stopped"):
        model = search().fit(X, Y, callback=stop)
    assert model.alpha_.shape == (4,)
    shares = [line.done for line in lines]
    assert shares == sorted(shares)
    with pytest.raises(RuntimeError, match="before any candidate"):
        search(alphas=[0.02, 0.002]).fit(X, Y, callback=lambda line: True)


def test_choices_at_an_end_are_counted(data):
    X, Y = data
    with pytest.warns(SearchWarning, match=r"smallest alpha .* of 4 targets"):
        search(alphas=[0.6, 0.4, 0.3]).fit(X, Y)
    noise = np.random.default_rng(0).standard_normal(60)
    both = np.column_stack([Y[:, 0], noise])
    with pytest.warns(SearchWarning, match="without active kernels for 1 of 2 targets"):
        search(alphas=[2.0, *ALPHAS]).fit(X, both)
    with pytest.warns(SearchWarning, match="2 targets, because no candidate has any"):
        search(alphas=[90.0, 80.0]).fit(X, both)


def test_a_model_is_saved_and_reported(data, tmp_path):
    X, Y = data
    model = search().fit(X, Y)
    save(model, tmp_path / "model.mkl")
    again = load(tmp_path / "model.mkl")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.best_index_, model.best_index_)
    np.testing.assert_array_equal(again.target_scores_, model.target_scores_)
    assert again.best_params_["alpha"].tolist() == model.best_params_["alpha"].tolist()
    assert "Regularization" in report(model, X, Y)
    assert set(model.summary()["output"]) == {"y0", "y1", "y2", "y3"}


def test_largest_alphas_are_those_of_every_problem(data):
    X, Y = data
    grams = np.exp(-((X.T[:, :, None] - X.T[:, None]) ** 2))
    stack = DenseStack(np.ascontiguousarray(grams))
    problems = [Problem(stack, y, SquaredLoss(), BlockL1(1.0)) for y in Y.T.copy()]
    expected = [alpha_max(problem) for problem in problems]
    np.testing.assert_allclose(largest_alphas(problems), expected)


def scored(scores, losses):
    """Return folds with such scores and losses of all candidates and targets."""
    outcome = Scores.empty(*scores.shape)
    outcome.scores[:], outcome.losses[:] = scores, losses
    outcome.done[:], outcome.n_active[:] = True, 1.0
    return outcome


def choices(scores, losses=1.0):
    outcome = scored(scores, losses)
    means = targets.target_means(outcome)
    return targets.best_of_targets(means, outcome)


def test_a_target_gives_way_to_the_others_by_standard_errors():
    scores = np.zeros((4, 4, 3))
    scores[:, :, 0] = [0.0, 0.1, 0.5, 0.3]  # The choice of most is 2.
    scores[:, :, 1] = [0.0, 0.1, 0.5, 0.3]
    scores[:, :, 2] = np.array([[0.45], [0.55], [0.4], [0.6]]) * [1.0, 0.9, 0.4, 0.2]
    np.testing.assert_array_equal(choices(scores), [2, 2, 0])
    scores[:, 1, 2] = scores[:, 0, 2] + [0.1, -0.1, 0.05, -0.06]
    np.testing.assert_array_equal(choices(scores), [2, 2, 1])


def test_a_target_gives_way_to_those_of_which_kernels_explain_as_much():
    rng = np.random.default_rng(0)
    clear, faint = [0.0, 0.3, 0.5, 0.7, 0.8], [0.0, 0.05, 0.04, 0.0, -0.05]
    scores = np.repeat([[clear] * 5 + [faint] * 4], 5, axis=0).transpose(0, 2, 1)
    scores = scores + 0.01 * rng.standard_normal((5, 1, 9))
    # One of each kind scores best by chance where the other kind does.
    lucky = 0.8 + 0.2 * rng.standard_normal(5)
    scores[:, 1, 0] = lucky - lucky.mean() + 0.801
    chance = 0.2 * rng.standard_normal(5)
    scores[:, 4, 8] = chance - chance.mean() + 0.051
    every = scored(scores, 1.0 - scores)
    alone = targets._best_candidates(targets.target_means(every))
    np.testing.assert_array_equal(alone, [1, 4, 4, 4, 4, 1, 1, 1, 4])
    np.testing.assert_array_equal(
        choices(scores, 1.0 - scores), [4, 4, 4, 4, 4, 1, 1, 1, 1]
    )


def test_without_losses_or_with_one_fold_all_targets_are_alike():
    best, losses = np.array([0, 2, 2]), np.ones((1, 3, 3))
    np.testing.assert_array_equal(targets._similar_medians(best, losses), [2, 2, 2])
    nothing = np.full((4, 3, 3), np.nan)
    np.testing.assert_array_equal(targets._similar_medians(best, nothing), [2, 2, 2])


def test_means_leave_out_folds_without_a_score():
    outcome = Scores.empty(2, 2, 2)
    outcome.scores[:] = [[[1.0, np.nan], [2.0, np.nan]], [[3.0, 5.0], [2.0, 4.0]]]
    outcome.done[:] = True
    means = targets.target_means(outcome)["mean_test_score"]
    np.testing.assert_array_equal(means, [[2.0, 5.0], [2.0, 4.0]])


def test_a_bar_tells_how_many_targets_are_done(data, monkeypatch):
    monkeypatch.setattr(targets, "BLOCK_BYTES", 1.0)
    X, Y = data
    log = io.StringIO()
    bar = ProgressBar(every=0.0, file=log)
    search().fit(X, Y, callback=bar)
    lines = log.getvalue().splitlines()
    size = Y.shape[1]
    assert any(f"1 of {size} targets have a strength" in line for line in lines)
    assert any(f"1 of {size} targets have a model" in line for line in lines)
    assert f"{size} of {size} targets have a model" in lines[-1]
