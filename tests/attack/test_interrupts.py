"""Interrupts at random moments of every kind of fit leave a working process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("interrupts.py")


def attack(n_interrupts: int, seed: int) -> list[dict[str, object]]:
    """Return the table of a process of its own, as a broken one ends the process."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(n_interrupts), str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    table: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return table


@pytest.mark.parametrize(
    ("n_interrupts", "seed"), [(10, 0), pytest.param(1000, 1, marks=pytest.mark.slow)]
)
def test_interrupts_leave_a_working_process(n_interrupts, seed):
    table = attack(n_interrupts, seed)
    promises = ("lost", "other_errors", "blas_stuck", "threads_left", "changed")
    broken = [row for row in table if any(row[name] for name in promises)]
    assert not broken
    ended = sum(row["interrupted"] + row["ignored"] for row in table)
    assert ended == sum(row["attempts"] for row in table) == n_interrupts
    assert sum(row["interrupted"] for row in table) > n_interrupts // 2
