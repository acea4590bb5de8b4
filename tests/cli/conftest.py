"""Small files of every kind, and a runner for commands."""

import warnings

import numpy as np
import pandas as pd
import pytest
from command_line import run_command


@pytest.fixture
def run():
    """Run the command line; returns the result with stdout, stderr and exit_code."""

    def invoke(*arguments):
        with warnings.catch_warnings():
            # Warnings are lines on stderr, and no errors as elsewhere in the tests.
            warnings.simplefilter("default")
            return run_command(*arguments)

    return invoke


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["age", "dose", "width"])
    X["outcome"] = np.where(np.abs(X["dose"]) > 0.7, "ill", "well")
    X["amount"] = np.sin(2 * X["dose"]) + 0.05 * rng.standard_normal(60)
    return X


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "patients.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def gram_file(frame, tmp_path):
    columns = frame[["age", "dose", "width"]].to_numpy().T
    differences = columns[:, :, None] - columns[:, None, :]
    path = tmp_path / "grams.npz"
    np.savez(
        path,
        K=np.exp(-(differences**2)),
        y=frame["amount"].to_numpy(),
        kernel_names=np.array(["by age", "by dose", "by width"]),
    )
    return path
