"""The demo: what it prints, draws, and does without matplotlib."""

import json
import sys

import pytest

from multikernel._install import install_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "pictures"


def test_demo_numbers_and_pictures(run, folder, rendered):
    result = run("demo", "--output", folder, "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["training_samples"] == 455
    assert report["n_kernels"] == 27 * 31
    assert report["test_accuracy"] > 0.93
    assert 0 <= report["duality_gap"] <= 1e-4
    assert 0 < report["n_active"] < 50
    names = ["weights.png", "convergence.png", "path.png"]
    assert report["plots"] == [str(folder / name) for name in names]
    for name in names:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_demo_goes_on(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    result = run("demo", "--output", folder / "none")
    assert result.exit_code == 0
    assert "test accuracy" in result.stdout
    assert "kernels in use" in result.stdout
    assert install_line("plot") in result.stderr
    assert not (folder / "none").exists()
