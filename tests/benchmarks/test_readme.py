"""Numbers of the README that need data of a benchmark are what this code reaches."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBERS = r"search\s+from ([\d.]+) to ([\d.]+), where a forest has ([\d.]+)\."


@pytest.mark.slow
@pytest.mark.data("delve_pumadyn_32nm")
def test_interactions_of_the_robot_arm(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "interactions"))
    monkeypatch.syspath_prepend(str(ROOT))
    scored = runpy.run_path(str(ROOT / "benchmarks/interactions/run.py"))["scored"]
    models = ("SpicyMKL, no pairs", "SpicyMKL", "random forest")
    for model, number in zip(models, re.search(NUMBERS, README).groups(), strict=True):
        draws = [
            scored("delve_pumadyn_32nm", model, draw, 300, 32)["score"]
            for draw in range(5)
        ]
        assert np.median(draws) == pytest.approx(float(number), abs=0.01)
