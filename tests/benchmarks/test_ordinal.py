"""The benchmark of ordered classes, on few rows of a set that needs no file."""

import pytest


@pytest.mark.slow
def test_grades_of_diabetes(run):
    printed = run("ordinal/run.py", "diabetes", "--repeats", 1, "--rows", 60)
    methods = [line.split(" | ")[1] for line in printed.splitlines()]
    assert methods == ["ordered classes", "numbers", "classes"]
