"""The option --dask of the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import run_command
from workers.problems import table

from multikernel.persistence import load


def run(*arguments):
    return run_command("fit", *arguments)


@pytest.fixture
def frame():
    X, f = table(300)
    frame = pd.DataFrame(5.0 * X + 2.0, columns=["a", "b", "c"])
    frame["far"] = np.where(f > 0.0, "yes", "no")
    frame["number"] = np.arange(300)
    return frame


def reported(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def options(target="far"):
    given = ["--target", target, "--drop", "number", "--tol", "1e-6"]
    return [*given, "--alpha", "0.02", "--storage", "low_rank", "--json"]


def test_parts_of_a_table(client, frame, tmp_path):
    for number, part in enumerate(frame[i : i + 100] for i in (0, 100, 200)):
        part.to_parquet(tmp_path / f"part{number}.parquet")
    frame.to_csv(tmp_path / "whole.csv", index=False)
    model = tmp_path / "model.mkl"
    cluster = ["--dask", client.scheduler.address, "--output", model]
    found = reported(run(tmp_path / "*.parquet", *options(), *cluster))
    expected = reported(run(tmp_path / "whole.csv", *options()))
    for name in ("objective", "training_score"):
        np.testing.assert_allclose(found[name], expected[name], rtol=2e-6)
    assert found["n_samples"] == 300
    assert [k["name"] for k in found["kernels"]] == [
        k["name"] for k in expected["kernels"]
    ]
    predicted = load(model).predict(frame[["a", "b", "c"]])
    np.testing.assert_allclose(
        np.mean(predicted == frame["far"]), found["training_score"]
    )


def test_regression_from_csv_files(client, frame, tmp_path):
    path = tmp_path / "whole.csv"
    frame["target"] = frame.pop("a") ** 2
    frame.drop(columns="far").to_csv(path, index=False)
    found = reported(run(path, *options("target"), "--dask", client.scheduler.address))
    expected = reported(run(path, *options("target")))
    np.testing.assert_allclose(found["objective"], expected["objective"], rtol=2e-6)
    np.testing.assert_allclose(
        found["training_score"], expected["training_score"], atol=1e-4
    )


@pytest.mark.parametrize(
    ("name", "extra", "message"),
    [
        ("rows.npz", [], "must end in .csv or .parquet"),
        ("none.parquet", [], "none.parquet"),
        ("whole.csv", ["--drop", "absent"], "absent"),
        ("words.csv", [], "non-numeric columns: far"),
        ("whole.csv", ["--offset", "a"], "--dask does not support --offset: remove"),
        ("whole.csv", ["--impute", "mean"], "--dask excludes --impute: remove"),
    ],
)
def test_errors_are_sentences(client, frame, tmp_path, name, extra, message):
    frame.to_csv(tmp_path / "whole.csv", index=False)
    frame.assign(y=1.0).to_csv(tmp_path / "words.csv", index=False)
    target = "y" if name == "words.csv" else "far"
    cluster = ["--dask", client.scheduler.address, *extra]
    done = run(tmp_path / name, *options(target), *cluster)
    assert done.exit_code == 1
    assert message in done.output
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_cluster_on_this_machine(frame, tmp_path):
    frame.to_csv(tmp_path / "whole.csv", index=False)
    found = reported(run(tmp_path / "whole.csv", *options(), "--dask", "local"))
    assert found["duality_gap"] <= 1e-6
    done = run(tmp_path / "whole.csv", *options(), "--dask", "tcp://127.0.0.1:9")
    assert done.exit_code == 1
    assert "no scheduler responds" in done.output
