"""The benchmark of times to an event, on a set that needs no other package."""

import json

import pytest


@pytest.mark.slow
def test_generated_times(run, tmp_path):
    method = "SpicyMKLSurvivalCV, linear"
    output = tmp_path / "results.json"
    printed = run(
        "survival/run.py",
        "generated",
        *("--repeats", 1, "--methods", method, "--output", output),
    )
    assert printed.startswith(f"| generated | {method} | 0.")
    rows = json.loads(output.read_text(encoding="utf-8"))
    assert len(rows[0]["scores"]) == 5
