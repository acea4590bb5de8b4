"""What a fit tells while it runs: the share of a search that is done."""

import io
import math
import sys
import types

import numpy as np
import pytest

from multikernel.estimators import (
    GroupOMPRegressorCV,
    HKLClassifier,
    LpMKLRegressorCV,
    ProgressBar,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    regularization_path,
)
from multikernel.estimators.progress import Watch, elapsed
from multikernel.kernels import GaussianKernel, per_column
from multikernel.problem import Progress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.sin(X[:, 0])
KERNELS = per_column(GaussianKernel(1.0), 3)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SpicyMKLRegressorCV(KERNELS, n_alphas=6, cv=3), Y),
        (SpicyMKLRegressorCV(KERNELS, n_alphas=6, cv=3, refit=False), Y),
        (SpicyMKLClassifierCV(KERNELS, n_alphas=4, cv=3), np.digitize(Y, [-0.5, 0.5])),
        (LpMKLRegressorCV(KERNELS, Cs=[0.1, 1.0], cv=3), Y),
        (GroupOMPRegressorCV(KERNELS, cv=3), Y),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_the_share_of_a_search_grows_to_one(model, y):
    shares = []
    model.fit(X, y, callback=lambda line: bool(shares.append(line.done)))
    assert shares[0] == 0.0
    assert 0.25 < shares[len(shares) // 2] < 0.8
    assert 0.7 < shares[-1] <= 1.0
    assert min(np.diff(shares)) >= 0.0


def test_a_single_fit_has_no_share():
    shares = []
    SpicyMKLRegressor(KERNELS).fit(X, Y, callback=lambda p: bool(shares.append(p.done)))
    assert set(shares) == {None}


@pytest.mark.parametrize(
    "model", [SpicyMKLClassifier(KERNELS), HKLClassifier()], ids=["spicy", "hkl"]
)
def test_the_classes_of_a_single_fit_are_parts_of_one_share(model):
    shares = []
    y = np.digitize(Y, [-0.5, 0.5])
    model.fit(X, y, callback=lambda p: shares.append(p.done))
    assert sorted(set(shares)) == pytest.approx([0.0, 1.0 / 3.0, 2.0 / 3.0])
    assert shares == sorted(shares)


def test_the_strengths_of_a_path_are_parts_of_one_share():
    shares = []
    regularization_path(
        SpicyMKLRegressor(KERNELS),
        X,
        Y,
        n_alphas=4,
        callback=lambda p: shares.append(p.done),
    )
    assert sorted(set(shares)) == [0.0, 0.25, 0.5, 0.75]
    assert shares == sorted(shares)


def test_a_log_gets_percentages(monkeypatch):
    log = io.StringIO()
    clock = iter([0.0, 30.0, 30.5, 300.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    bar = ProgressBar("search", every=10.0, file=log)
    for done in (0.0, 0.25, 0.3, 0.5):
        assert bar(Progress(1, 0.0, 1.0, 0.02, 7, done=done)) is False
    first, second = log.getvalue().splitlines()
    assert first.startswith("search: 25%, 30 s so far, iteration 1, gap 2.0e-02")
    assert second.startswith("search: 50%, 5 min so far, ")


def test_the_share_of_a_whole_call_never_falls():
    """Rounds of building, classes and refinements once brought it back to zero."""
    log = io.StringIO()
    bar = ProgressBar("x", every=0.0, file=log)
    for share in (0.2, 0.5, 0.1, 0.9):
        bar.building(share)
    for done in (0.0, 0.5, 1.0, 0.1):
        bar(Progress(0, 0.1, 1.0, 0.1, 1, done=done))
    bar.building(0.3)
    shown = [line.split()[1].rstrip(",") for line in log.getvalue().splitlines()]
    assert shown == ["2%", "5%", "5%", "9%", "10%", "55%", "100%", "100%", "100%"]


def test_a_terminal_gets_one_line():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    bar = ProgressBar(every=0.0, file=screen)
    SpicyMKLRegressor(KERNELS).fit(X, Y, callback=bar)
    assert screen.getvalue().count("\r") >= 2
    assert screen.getvalue().index("\n") == len(screen.getvalue()) - 1


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.filterwarnings("ignore:.*stopped above")
def test_a_search_ends_at_the_whole():
    """The last line is shown however soon it comes; a search that is stopped ends
    where it was."""
    log = io.StringIO()
    bar = ProgressBar(every=0.0, file=log)
    for _ in range(2):
        SpicyMKLRegressorCV(KERNELS, n_alphas=3, cv=2).fit(X, Y, callback=bar)
        lines = log.getvalue().splitlines()
        assert lines[-1].startswith("fit: 100%, 0 s so far, iteration")
    assert sum(line.startswith("fit: 0%") for line in lines) >= 2
    quiet = io.StringIO()
    bar = ProgressBar(every=1e9, file=quiet)
    SpicyMKLRegressor(KERNELS).fit(X, Y, callback=bar)
    assert not quiet.getvalue()

    class Stops(ProgressBar):
        def __call__(self, line):
            super().__call__(line)
            return line.done > 0.2

    log = io.StringIO()
    SpicyMKLRegressorCV(KERNELS, n_alphas=3, cv=2).fit(
        X, Y, callback=Stops(every=0.0, file=log)
    )
    assert "100%" not in log.getvalue()


def test_a_notebook_gets_one_display(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=lambda html: shown.append(html))
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: handle
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    bar = ProgressBar("<fit>", every=0.0)
    bar(Progress(1, 0.0, 1.0, math.nan, 7))
    assert shown == ["<pre>&lt;fit&gt;: iteration 1, 7 active kernels</pre>"]


def test_ipython_in_a_terminal_gets_text(monkeypatch, capsys):
    shell = types.ModuleType("IPython")
    shell.get_ipython = object  # a shell without a kernel
    monkeypatch.setitem(sys.modules, "IPython", shell)
    ProgressBar("fit", every=0.0)(Progress(1, 0.0, 1.0, math.nan, 7))
    assert "fit: iteration 1, 7 active kernels" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_verbose_searches_write_percentages(capsys):
    SpicyMKLRegressorCV(KERNELS, n_alphas=3, cv=2, verbose=1).fit(X, Y)
    text = capsys.readouterr().err
    assert "SpicyMKLRegressorCV: 0%, iteration 0" in text
    assert "67%, iteration" in text


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_candidates_that_are_left_out_count_as_done():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    y = np.where(X[:, 0] + 1.5 * rng.standard_normal(60) > 0.0, 1, 0)
    shares = []
    search = SpicyMKLClassifierCV(
        n_alphas=15, alpha_min_ratio=1e-4, scoring="neg_log_loss"
    )
    search.fit(X, y, callback=lambda line: bool(shares.append(line.done)))
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() > 2
    # Of five folds and the model on all samples, the last one.
    assert shares[-1] >= 5.0 / 6.0


def test_a_long_search_says_once_how_far_it_is(caplog, monkeypatch):
    clock = iter([60.0, 61.0, 93.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock, 93.0))
    watch = Watch([])
    watch.expect(101, 1, "SpicyMKLClassifierCV", 2.5e9)
    watch.advance(1)
    assert not caplog.records
    watch.advance(9)
    (record,) = caplog.records
    assert record.name == "multikernel"
    assert record.getMessage() == (
        "SpicyMKLClassifierCV has finished 10 of at most 101 solves: 33 s so far. "
        "Its kernels take up to 2.5 GB of memory. Call fit(X, y, "
        "callback=ProgressBar()) to see the progress."
    )
    watch.advance(1)
    assert len(caplog.records) == 1


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("slow", [False, True])
def test_only_long_searches_say_so(slow, caplog, monkeypatch):
    """The clock of a slow search goes a minute further whenever it is read."""
    ticks = iter(np.arange(1e6) * (60.0 if slow else 0.0))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    SpicyMKLRegressorCV(KERNELS, n_alphas=3, cv=2).fit(X, Y)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == slow
    beginning = "SpicyMKLRegressorCV has finished 1 of at most 9 solves: "
    assert all(text.startswith(beginning) for text in messages)


def test_a_stop_is_not_taken_back_by_another_thread():
    # What one thread is told while a second one asks its callbacks.
    watch = Watch([lambda line: bool(watch.stop())])
    assert watch(Progress(1, 0.0, 1.0, math.nan, 7))
    assert watch.stopped


def test_elapsed_time_has_a_readable_unit():
    texts = [elapsed(seconds) for seconds in (90.0, 600.0, 9000.0)]
    assert texts == ["90 s so far", "10 min so far", "2.5 h so far"]


def test_a_line_of_a_log_is_complete():
    log = io.StringIO()
    bar = ProgressBar("search", every=0.0, file=log)
    assert bar(Progress(3, 0.1, 50.0, 0.02, 7, done=0.25)) is False
    expected = "search: 25%, 0 s so far, iteration 3, gap 2.0e-02, 7 active kernels\n"
    assert log.getvalue() == expected
