"""Reports of models of times to an event: concordance, curves and calibration."""

import html
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib.pyplot", reason="reports have pictures")
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLSurvival, report

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 3))
TIME = np.exp(X[:, 1] + 0.4 * rng.logistic(size=120))
END = rng.exponential(4.0, 120)
Y = np.column_stack([TIME <= END, np.minimum(TIME, END)])
MODEL = make_pipeline(StandardScaler(), SpicyMKLSurvival()).fit(X[:60], Y[:60])


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


@pytest.fixture
def drawn(monkeypatch):
    """Return the axes of a page's pictures, as they come."""
    panels, save = [], Figure.savefig

    def keeping(figure, *arguments, **settings):
        panels.append(figure.axes[0])
        return save(figure, *arguments, **settings)

    monkeypatch.setattr(Figure, "savefig", keeping)
    return panels


def scaled(X):
    """Return the model behind the scaler, and the data that reach it."""
    return MODEL[-1], MODEL[:-1].transform(X)


def shares_of(panel):
    """Return what is predicted and seen of every group, and the ends of its bar."""
    (bars,) = panel.containers
    predicted, seen = bars[0].get_data()
    (segments,) = bars[2]
    ends = np.array([segment[:, 1] for segment in segments.get_segments()])
    return np.column_stack([predicted, seen, ends])


def kaplan_meier(time, seen, at):
    """Return the product over the event times up to one, written out."""
    share = 1.0
    for each in np.unique(time[seen]):
        if each <= at:
            here = seen & (time == each)
            share *= 1.0 - here.sum() / (time >= each).sum()
    return share


def test_a_page_has_curves_and_calibration():
    page = report(MODEL, X[60:], Y[60:])
    calibration = next(head for head in headings(page) if "Calibration" in head)
    assert "Predicted thirds" in headings(page)
    at = np.median(Y[60:, 1][Y[60:, 0] == 1.0])
    assert f"{at:.4g}" in calibration
    assert f"{MODEL.score(X[60:], Y[60:]):.3g}" in html.unescape(page)
    assert "<p>None.</p>" in page[page.index("<h2>Warnings") :]


def test_curves_are_those_of_kaplan_and_meier(drawn):
    report(MODEL, X, Y)
    inner, data = scaled(X)
    risk = inner.predict(data)
    solid = [line for line in drawn[0].lines if line.get_drawstyle() == "steps-post"]
    edges = np.quantile(risk, [1 / 3, 2 / 3])
    for third, line in enumerate(solid):
        rows = np.searchsorted(edges, risk) == third
        for at, height in zip(*line.get_data(), strict=True):
            exact = kaplan_meier(Y[rows, 1], Y[rows, 0] == 1.0, at)
            assert height == pytest.approx(exact)
    assert len(solid) == 3
    # What is predicted to come latest has the fewest events at the end.
    assert solid[0].get_ydata()[-1] > solid[2].get_ydata()[-1]


def test_calibration_is_the_share_of_every_group(drawn):
    report(MODEL, X, Y)
    inner, data = scaled(X)
    at = np.median(Y[Y[:, 0] == 1.0, 1])
    later = inner.predict_survival_function(data, [at])[:, 0]
    shares = shares_of(drawn[1])
    edges = np.quantile(later, [0.2, 0.4, 0.6, 0.8])
    assert len(shares) == 5
    for group, (predicted, seen, low, high) in enumerate(shares):
        rows = np.searchsorted(edges, later) == group
        assert predicted == pytest.approx(later[rows].mean())
        exact = kaplan_meier(Y[rows, 1], Y[rows, 0] == 1.0, at)
        assert seen == pytest.approx(exact)
        # Greenwood's interval is not defined where all events were seen, or none.
        assert not 0.0 < seen < 1.0 or low <= seen <= high


@pytest.mark.parametrize("seen", [False, True])
def test_a_group_that_was_not_followed_so_long_is_left_out(drawn, seen):
    inner, data = scaled(X)
    y = Y.copy()
    at = np.median(y[y[:, 0] == 1.0, 1])
    later = inner.predict_survival_function(data, [at])[:, 0]
    last = later >= np.quantile(later, 0.8)
    y[last] = [float(seen), 1e-3 * at]
    report(MODEL, X, y)
    shares = shares_of(drawn[1])
    assert len(shares) == 4 + seen
    assert not seen or shares[-1, 1] == 0.0


def test_intervals_and_no_event_have_scores_alone():
    rows = np.floor(Y[:, 1])
    intervals = np.column_stack([rows, rows + 1.0])
    structured = np.empty(120, dtype=[("lower", float), ("upper", float)])
    structured["lower"], structured["upper"] = intervals.T
    page = report(MODEL, X, structured)
    assert "concordance" in page
    assert "only known to lie in an interval" in page
    censored = np.column_stack([np.zeros(120), Y[:, 1]])
    assert not {"Predicted thirds"} & {*headings(report(MODEL, X, censored))}


def test_equal_risks_are_one_curve(drawn):
    with pytest.warns(UserWarning, match="no active kernel"):
        flat = SpicyMKLSurvival(alpha=1e3).fit(X, Y)
    report(flat, X, Y)
    assert [text.get_text() for text in drawn[0].get_legend().texts] == ["all (120)"]


def test_targets_of_another_length_are_refused():
    with pytest.raises(ValueError, match="X has 120 samples, but y has 60"):
        report(MODEL, X, Y[:60])
