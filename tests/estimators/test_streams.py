"""Tables in partitions, and factors in files, give what tables in memory give."""

import gc

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from multikernel.estimators import (
    GroupOMPClassifierCV,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
)
from multikernel.gram import LowRank
from multikernel.gram.factors import row_blocks
from multikernel.kernels import GaussianKernel, ParameterGrid
from multikernel.losses import LOSSES

KERNELS = ParameterGrid([GaussianKernel(0.5), GaussianKernel(2.0)], range(3))
NAMES = list("abc")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, 3)), columns=NAMES)
    X["y"] = np.where(X["a"] ** 2 - 1.0 + X["b"] > 0.0, "ill", "well")
    return X


def model(**options):
    return SpicyMKLClassifier(KERNELS, alpha=0.01, tol=1e-10, **options)


def parts(frame, size=25):
    """Return a data frame of Dask, as it is made of a user's own batches."""
    return dd.from_map(lambda start: frame[start : start + size], range(0, 90, size))


def sources(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    return {
        "csv": dd.read_csv(tmp_path / "rows.csv", blocksize=800),
        "parquet": dd.read_parquet(tmp_path / "rows.parquet"),
        "frames": parts(frame),
    }


@pytest.mark.parametrize(
    "kind", ["csv", pytest.param("parquet", marks=pytest.mark.slow), "frames"]
)
def test_partitions_of_every_kind(kind, frame, tmp_path):
    # Partitions keep their order, so that the same solver takes other steps.
    whole = model().fit(frame[NAMES], frame["y"])
    source = sources(frame, tmp_path)[kind]
    files = tmp_path / "files"
    there = LowRank(tol=1e-12, folder=files)
    found = model(storage=there).fit(source[NAMES], source["y"])
    expected = whole.decision_function(frame[NAMES])
    np.testing.assert_allclose(
        found.decision_function(source[NAMES]).compute(), expected, rtol=0, atol=1e-6
    )
    assert list(found.feature_names_in_) == NAMES
    assert list(found.classes_) == ["ill", "well"]
    gc.collect()
    assert list(files.iterdir()) == []


@pytest.mark.parametrize("kind", [iter, lambda parts: pa.table(parts[0]).to_reader()])
def test_batches_get_a_sentence_that_names_the_way_in(kind, frame):
    with pytest.raises(
        ValueError, match=r"in several parts: .* dask.dataframe.from_map"
    ):
        model().fit(kind([frame[NAMES]]), frame["y"])
    fitted = model(storage="dense").set_params(tol=0.1).fit(frame[NAMES], frame["y"])
    with pytest.raises(
        ValueError, match=r"in several parts: .* dask.dataframe.from_map"
    ):
        fitted.predict(kind([frame[NAMES]]))


@pytest.mark.parametrize(
    "dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_factors_in_files(frame, tmp_path, monkeypatch, loss, dtype):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 16)
    X, y = frame[NAMES].to_numpy(), frame["y"].to_numpy()
    whole = model(loss=loss, storage=LowRank()).fit(X, y)
    there = LowRank(folder=tmp_path, dtype=dtype)
    partitions = da.from_array(X, chunks=(25, 3))
    # Rounded factors have the optimum of other kernels, by their last digits.
    tol = 1e-10 if dtype == "float64" else 1e-7
    found = model(loss=loss, storage=there).set_params(tol=tol).fit(partitions, y)
    assert found.duality_gap_ <= tol
    # Samples stand in another order, and landmarks with them: as near as gaps say.
    rtol = 1e-9 if dtype == "float64" else 3e-7
    assert found.objective_ == pytest.approx(whole.objective_, rel=rtol)
    if dtype == "float64":
        assert_within_gap(found, whole, X, y)
        assert_within_gap(whole, found, X, y)
    else:
        values = found.decision_function(X), whole.decision_function(X)
        np.testing.assert_allclose(*values, rtol=0, atol=3e-3)
    gc.collect()
    assert list(tmp_path.iterdir()) == []  # files go with what is mapped


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("search", [SpicyMKLClassifierCV, GroupOMPClassifierCV])
def test_searches_over_factors_in_files(search, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 16)
    X, y = frame[NAMES].to_numpy(), frame["y"].to_numpy()
    settings = {"cv": 2, "alphas": [0.1, 0.01, 0.001]}
    whole = search(KERNELS, storage=LowRank(), **settings).fit(X, y)
    there = search(KERNELS, storage=LowRank(folder=tmp_path), **settings)
    found = there.fit(X, y)
    assert found.best_params_ == pytest.approx(whole.best_params_)
    assert found.best_score_ == pytest.approx(whole.best_score_)
    if search is SpicyMKLClassifierCV:
        # Newton's method takes what is in memory, working sets what is in files.
        assert_within_gap(found, whole, X, y)
        assert_within_gap(whole, found, X, y)
    else:
        values = found.decision_function(X), whole.decision_function(X)
        np.testing.assert_allclose(*values, rtol=0, atol=1e-6)
    gc.collect()
    assert not any(tmp_path.iterdir())


def assert_within_gap(model, other, X, y):
    """What a primal and a dual point prove together bounds how far values are off.

    Fenchel's inequality: the sum of l(f) + l*(-rho) + rho f, which is zero only where
    f is what rho asks for, is at most the distance of the two objectives.
    """
    signs = np.where(y == "well", 1.0, -1.0)
    f, rho = model.decision_function(X), other.dual_coef_
    loss = LOSSES[model.loss]()
    apart = loss.value(signs, f) + loss.conjugate(signs, -rho) + rho * f
    allowed = model.objective_ - (1.0 - other.duality_gap_) * other.objective_
    assert apart.mean() <= allowed + 1e-11 * model.objective_


def test_factors_in_files_are_for_every_solver(frame, tmp_path):
    X, y = frame[NAMES].to_numpy(), frame["y"].to_numpy()
    options = {"p": 1.5, "tol": 1e-8}
    whole = LpMKLClassifier(KERNELS, storage=LowRank(), **options).fit(X, y)
    there = LpMKLClassifier(KERNELS, storage=LowRank(folder=tmp_path), **options)
    np.testing.assert_allclose(
        there.fit(X, y).decision_function(X),
        whole.decision_function(X),
        rtol=0,
        atol=1e-4,
    )


def test_factors_are_built_with_progress(frame, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 16)
    monkeypatch.setattr("multikernel.estimators.progress.QUIET_SECONDS", 0.0)
    shares = []

    class Watch:
        def building(self, share):
            shares.append(share)

        def __call__(self, line):
            return False

    X, y = frame[NAMES].to_numpy(), frame["y"].to_numpy()
    thin = SpicyMKLClassifier(KERNELS, storage=LowRank(folder=tmp_path))
    thin.fit(X, y, callback=Watch())
    assert max(shares) == 1.0
    assert len(shares) >= 6
    thin.set_params(verbose=1).fit(X, y)
    told = capsys.readouterr().err
    assert "SpicyMKLClassifier: kernels 50%, " in told
    assert " s so far" in told


def test_a_full_disk_ends_a_stream_with_a_sentence(frame, monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    there = LowRank(folder=tmp_path)
    # Python would store bytecode that the limit cuts: every module is imported before.
    for table in (frame, parts(frame)):
        model(storage=there).fit(table[NAMES], frame["y"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        with pytest.raises(OSError, match=r"Cannot write .* needed, .* free"):
            model(storage=there).fit(frame[NAMES], frame["y"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(OSError, match=r"Cannot write .* needed, .* free"):
            model(storage=there).fit(parts(frame)[NAMES], frame["y"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_options_of_storages_are_checked():
    for make in (
        lambda: LowRank(dtype="float32"),
        lambda: LowRank(folder=3),
    ):
        with pytest.raises(ValueError, match=r"folder|dtype"):
            make()
