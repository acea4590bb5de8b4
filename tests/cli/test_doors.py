"""The command line and Python make the same models of the same data."""

import warnings

import numpy as np
import pandas as pd
import pytest

from multikernel import SpicyMKLClassifier
from multikernel.datasets import read_fasta
from multikernel.persistence import load

VIEWS = ("--view", "dose=dose_*", "--view", "clinic=age,site")


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    found = pd.DataFrame(rng.standard_normal((60, 2)), columns=["dose_0", "dose_1"])
    found["age"] = rng.integers(20, 80, 60)
    found["ward"] = rng.integers(1, 4, 60)
    found["site"] = rng.choice(["lung", "skin"], 60)
    letters = rng.choice(list("ACGT"), size=(60, 24))
    found["dna"] = ["".join(row) for row in letters]
    ill = np.sin(2 * found["dose_0"]) + (found["site"] == "lung") > 0.5
    ill |= letters[:, 5] == "A"
    found["outcome"] = np.where(ill, "ill", "well")
    return found


def fitted_by_command(run, path, *options):
    model = path.with_suffix(".skops")
    options = ("-t", "outcome", "--no-scale", "--alpha", 0.01, *options)
    result = run("fit", path, *options, "-o", model)
    assert result.exit_code == 0, result.stderr
    answer = run("predict", model, path, "--proba", "-t", "outcome")
    assert answer.exit_code == 0, answer.stderr
    written = [line.split(",") for line in answer.stdout.splitlines()]
    frame = pd.DataFrame(written[1:], columns=written[0])
    return load(model)["model"], frame["probability_well"].astype(float)


def assert_same(ours, X, y, kernels=None):
    model, probability = ours
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        python = SpicyMKLClassifier(kernels, alpha=0.01).fit(X, y)
    assert model.kernel_names_ == python.kernel_names_
    np.testing.assert_array_equal(model.active_kernels_, python.active_kernels_)
    # BLAS may round differently for arrays at other addresses in memory.
    np.testing.assert_allclose(
        model.kernel_weights_, python.kernel_weights_, rtol=1e-11, atol=0
    )
    np.testing.assert_allclose(
        probability, python.predict_proba(X)[:, 1], rtol=1e-12, atol=0
    )


def test_columns_of_text_and_numbers(run, table, tmp_path):
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    X, y = table.drop(columns="outcome"), table["outcome"]
    ours = fitted_by_command(run, path)
    assert "category()[site]" in ours[0].kernel_names_
    assert "spectrum(k=3)[dna]" in ours[0].kernel_names_
    assert_same(ours, X, y)


def test_numbers_that_are_categories(run, table, tmp_path):
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    X, y = table.drop(columns="outcome"), table["outcome"]
    ours = fitted_by_command(run, path, "--category", "ward", "--category", "site")
    assert "category()[ward]" in ours[0].kernel_names_
    assert any(name.endswith("[age]") for name in ours[0].kernel_names_)
    assert_same(ours, X.astype({"ward": "category"}), y)


def test_fasta(run, table, tmp_path):
    path = tmp_path / "table.fasta"
    records = zip(table["dna"], table["outcome"], strict=True)
    path.write_text(
        "".join(f">r{row} outcome={o}\n{dna}\n" for row, (dna, o) in enumerate(records))
    )
    ours = fitted_by_command(run, path)
    assert ours[0].kernel_names_[0] == "spectrum(k=3)"
    found = read_fasta(path)
    X = pd.DataFrame({"sequence": found.sequences})
    assert_same(ours, X, found.fields["outcome"])


def test_sequences_that_only_the_user_knows(run, table, tmp_path):
    table["dna"] = table["dna"].str[:12]
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    X, y = table.drop(columns="outcome"), table["outcome"]
    from multikernel.kernels.sequence import sequence_dictionary

    kernels = list(sequence_dictionary(table["dna"], "dna").kernels)
    others = ["dose_0", "dose_1", "age", "ward", "site"]
    views = {"other columns": others, "dna": ("dna", kernels)}
    assert_same(fitted_by_command(run, path, "--sequence", "dna"), X, y, views)


def test_views(run, table, tmp_path):
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    X, y = table.drop(columns="outcome"), table["outcome"]
    views = {"dose": ["dose_0", "dose_1"], "clinic": ["age", "site"]}
    ours = fitted_by_command(run, path, *VIEWS)
    assert_same(ours, X, y, views)
