"""Losses: conformance, properties for any numbers, and the weighted loss."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multikernel.estimators import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.losses import (
    LOSSES,
    EpsilonInsensitiveLoss,
    GammaLoss,
    HuberLoss,
    PinballLoss,
    PoissonLoss,
    SoftmaxLoss,
    SquaredLoss,
    loss_names,
    weighted,
)
from multikernel.losses.weighted import is_squared
from multikernel.testing import check_loss

CLASSIFICATION = tuple(
    name for name in LOSSES if LOSSES[name].tasks == ("classification",)
)
AMOUNTS = ("poisson", "gamma")
REGRESSION = tuple(name for name in LOSSES if name not in CLASSIFICATION + AMOUNTS)


@pytest.mark.parametrize("name", loss_names("classification"))
def test_conformance_on_labels(name):
    check_loss(LOSSES[name]())


@pytest.mark.parametrize("name", REGRESSION)
def test_conformance_on_real_targets(name):
    y = np.random.default_rng(1).normal(scale=4.0, size=20)
    check_loss(LOSSES[name](), y)


@pytest.mark.parametrize("mean", [0.5, 3.0, 1000.0])
def test_conformance_on_counts_and_amounts(mean):
    random = np.random.default_rng(2)
    check_loss(PoissonLoss(), random.poisson(mean, 20).astype(float))
    check_loss(GammaLoss(), random.gamma(2.0, mean, 20))


@pytest.mark.parametrize("loss", [PinballLoss(0.1), HuberLoss(0.1), HuberLoss(20.0)])
def test_conformance_of_other_levels(loss):
    check_loss(loss, np.linspace(-2.0, 3.0, 15))


@pytest.mark.parametrize("name", AMOUNTS)
def test_far_decision_values_are_numbers(name):
    y = np.array([1e-300, 1.0, 1e300]) if name == "gamma" else np.array([0.0, 1.0, 9.0])
    for f in (-1e9, -800.0, 800.0, 1e9):
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            for numbers in (LOSSES[name]().value, LOSSES[name]().gradient):
                assert np.isfinite(numbers(y, np.full(3, f))).all()


@pytest.mark.parametrize(
    ("loss", "y", "sentence"),
    [
        (PoissonLoss(), [1.0, -2.0], "requires y >= 0, but the smallest y is -2"),
        (PoissonLoss(), [0.0, 0.0], "requires a count above 0"),
        (GammaLoss(), [1.0, 2.0, 0.0], "requires y > 0, but the smallest y is 0"),
    ],
)
def test_targets_that_do_not_suit(loss, y, sentence):
    assert sentence in loss.unsuitable(np.array(y))
    assert loss.unsuitable(np.array([1.0, 2.0])) is None


@pytest.mark.parametrize("quantile", [0.0, 1.0, np.nan])
def test_bad_levels_are_refused(quantile):
    with pytest.raises(ValueError, match="quantile must be above 0 and below 1"):
        PinballLoss(quantile)


@pytest.mark.parametrize("delta", [0.0, np.inf, np.nan])
def test_bad_lengths_are_refused(delta):
    with pytest.raises(ValueError, match="delta must be positive and finite"):
        HuberLoss(delta)


@pytest.mark.parametrize("epsilon", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_conformance_of_other_tubes(epsilon):
    check_loss(EpsilonInsensitiveLoss(epsilon), np.linspace(-2.0, 3.0, 15))


reals = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("name", REGRESSION + CLASSIFICATION)
@given(label=st.sampled_from([-1.0, 1.0]), target=reals, f=reals, share=st.floats(0, 1))
def test_fenchel_young_for_any_numbers(name, label, target, f, share):
    loss = LOSSES[name]()
    y = np.array([label if name in CLASSIFICATION else target])
    point = np.array([f])
    lower, upper = (np.clip(bound, -1e6, 1e6) for bound in loss.dual_bounds(y))
    u = lower + share * (upper - lower)
    u = np.clip(u, lower, upper)
    total, product = loss.value(y, point) + loss.conjugate(y, u), point * u
    scale = 1.0 + np.abs(product) + loss.value(y, point) + np.abs(u * y) + u * u
    assert np.all(total - product >= -1e-12 * scale)


@pytest.mark.parametrize("name", ["log_loss", "hinge"])
def test_margins_of_any_size_neither_overflow_nor_lose_digits(name):
    loss = LOSSES[name]()
    margins = np.array([-1e300, -800.0, 0.0, 800.0, 1e300])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        values = loss.value(np.ones(5), margins)
        slopes = loss.gradient(np.ones(5), margins)
    offset = {"log_loss": 0.0, "hinge": 1.0}[name]
    np.testing.assert_allclose(values[:2], -margins[:2] + offset, rtol=1e-14)
    np.testing.assert_array_equal(slopes[[0, 1, 4]], [-1.0, -1.0, 0.0])


def test_logistic_tail_keeps_its_relative_precision():
    values = LOSSES["log_loss"]().value(np.ones(1), np.array([40.0]))
    np.testing.assert_allclose(values, np.exp(-40.0), rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
@pytest.mark.parametrize("a", [1e-3, 1e-6, 1e-9, 1e-12])
def test_entropies_of_tiny_slopes_keep_their_digits(name, a):
    # Times a weight of a million, rounding of 1 - a was more than a gap allows.
    if name == "logistic":
        found = LOSSES["log_loss"]().conjugate(np.array([1.0]), np.array([-a]))
    else:
        found = SoftmaxLoss().conjugate(np.array([[0.0, 1.0]]), np.array([[a, -a]]))
    series = a * np.log(a) - a + a**2 / 2.0 + a**3 / 6.0 + a**4 / 12.0
    assert found[0] == pytest.approx(series, rel=4e-15)


@pytest.mark.parametrize("name", LOSSES)
def test_no_weights_and_unit_weights_give_back_the_loss(name):
    loss = LOSSES[name]()
    assert weighted(loss, None) is loss
    assert weighted(loss, np.ones(3)) is loss


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_weights_are_refused(bad):
    with pytest.raises(ValueError, match=r"positive and finite.* at sample 1: "):
        weighted(SquaredLoss(), np.array([1.0, bad]))


@pytest.mark.parametrize("epsilon", [-0.1, np.nan, np.inf])
def test_bad_tubes_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be finite and not negative"):
        EpsilonInsensitiveLoss(epsilon)


@pytest.mark.parametrize("loss", [PinballLoss(0.8), HuberLoss(0.1)], ids=repr)
def test_bounds_times_weights_are_in_the_domain(loss):
    """Divided by a weight again, one in ten of these rounds to beyond its bound."""
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 1000)
    y, heavy = np.linspace(-2.0, 2.0, 1000), weighted(loss, weights)
    for u in heavy.dual_bounds(y):
        assert np.all(np.isfinite(heavy.conjugate(y, u)))
        beyond = u + 1e-9 * np.sign(u)
        assert np.all(np.isposinf(heavy.conjugate(y, beyond)))


def test_subclasses_of_the_squared_loss_are_losses_of_their_own():
    class Other(SquaredLoss):
        def value(self, y, f):
            return 2.0 * super().value(y, f)

    for squared, loss in ((True, SquaredLoss()), (False, Other())):
        assert is_squared(loss) is squared
        assert is_squared(weighted(loss, np.ones(3))) is squared


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_known_by_its_name_where_its_tasks_say_so(name):
    rng = np.random.default_rng(0)
    X, label = rng.standard_normal((12, 2)), np.arange(12) % 2
    estimators = {"classification": SpicyMKLClassifier, "regression": SpicyMKLRegressor}
    for task, estimator in estimators.items():
        y = label if task == "classification" else 1.0 + rng.uniform(size=12)
        if name in loss_names(task):
            model = estimator(loss=name).fit(X, y)
            assert model.duality_gap_ <= model.tol
            assert hasattr(model, "epsilon_") is hasattr(LOSSES[name], "length")
        else:
            with pytest.raises(ValueError, match="loss must be"):
                estimator(loss=name).fit(X, y)


def test_a_registered_loss_without_tasks_is_named(monkeypatch):
    class Untold:
        pass

    monkeypatch.setitem(LOSSES, "untold", Untold)
    with pytest.raises(TypeError, match=r"Untold is in LOSSES, but has no tasks: add"):
        loss_names("regression")
