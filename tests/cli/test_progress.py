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


def test_each_class_starts_over():
    watch = LiveFit("x", tol=1e-4, n_samples=1)
    watch(Progress(0, 0.1, 1.0, 1.0, 1))
    watch(Progress(1, 0.2, 1.0, 1e-4, 1))
    assert watch._bar.tasks[0].completed == 1.0
    watch(Progress(0, 0.3, 1.0, 0.1, 1))
    assert watch._bar.tasks[0].completed == 0.0
