"""The live line: what it shows, and where it keeps quiet."""

import io

import pytest
from rich.console import Console

from multikernel.cli._console import LiveFit, _share_done
from multikernel.problem import Progress


def test_a_terminal_shows_the_state():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=160)
    with LiveFit("SpicyMKL", tol=1e-3, n_samples=10, console=console) as watch:
        assert watch(Progress(0, 0.1, 50.0, 0.2, 7)) is False
        watch(Progress(1, 0.2, 20.0, 0.02, 5))
        watch._bar.refresh()
    shown = screen.getvalue()
    assert "objective 2" in shown
    assert "gap 2.0e-02" in shown
    assert "5 active kernels" in shown


def test_no_terminal_no_output():
    screen = io.StringIO()
    with LiveFit("x", tol=1e-3, n_samples=1, console=Console(file=screen)) as watch:
        watch(Progress(0, 0.1, 50.0, 0.2, 7))
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("first", "now", "share"),
    [
        (1.0, 1.0, 0.0),
        (1.0, 1e-2, 0.5),
        (1.0, 1e-9, 1.0),
        (1.0, 2.0, 0.0),
        (1e-5, 1e-5, 0.0),
        (float("nan"), float("nan"), 0.0),
    ],
)
def test_the_bar_runs_on_a_logarithmic_scale(first, now, share):
    assert _share_done(first, now, tol=1e-4) == pytest.approx(share)


def test_the_bar_of_a_whole_call_never_falls():
    """Rounds of building, classes and refinements once brought it back to zero."""
    watch = LiveFit("x", tol=1e-4, n_samples=1)
    shown = []

    def tell(share, gap=None):
        if gap is None:
            watch.building(share)
        else:
            watch(Progress(0, 0.1, 1.0, gap, 1, done=share))
        shown.append(watch._bar.tasks[0].completed)

    for share in (0.2, 0.5, 0.1, 0.9):
        tell(share)
    for gap in (1.0, 1e-2, 1e-4, 0.1):
        tell(None, gap)
    tell(0.3)
    assert shown == sorted(shown)
    assert shown[3] == pytest.approx(0.09)
    assert shown[5] == pytest.approx(0.55)
    assert shown[-1] == 1.0


def test_a_log_says_how_long_it_has_taken_and_no_time_that_nobody_knows():
    screen = io.StringIO()
    console = Console(file=screen, width=160)
    watch = LiveFit("x", tol=1e-4, n_samples=1, console=console, quiet=0.0)
    watch.building(0.49)
    watch(Progress(0, 0.1, 1.0, 0.1, 1))
    watch(Progress(1, 0.1, 1.0, 0.1, 1, done=0.5, left=600.0))
    building, first, known = screen.getvalue().splitlines()
    assert building == "x: 5%, 0 s so far, building kernels"
    assert first.startswith("x: 10%, 0 s so far, iteration 0")
    assert known.startswith("x: 55%, 0 s so far, about 10 min left, iteration 1")
