"""Tables in batches, and factors in files, give what tables in memory give."""

import gc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from multikernel.datasets import read_batches
from multikernel.estimators import (
    GroupOMPClassifierCV,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
)
from multikernel.estimators.parameters import find_loss
from multikernel.gram import LowRank
from multikernel.gram.factors import row_blocks
from multikernel.kernels import GaussianKernel, ParameterGrid

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


def sources(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return {
        "csv": read_batches(tmp_path / "rows.csv"),
        "parquet": read_batches(tmp_path / "rows.parquet"),
        "reader": table.to_reader(max_chunksize=20),
        "dataset": pyarrow.dataset.dataset(tmp_path / "rows.parquet"),
        "frames": iter([frame[:40], frame[40:]]),
    }


@pytest.mark.parametrize("kind", ["csv", "parquet", "reader", "dataset", "frames"])
def test_batches_of_every_kind(kind, frame, tmp_path):
    # Batches keep their order, so that the same solver takes other steps.
    whole = model().fit(frame[NAMES], frame["y"])
    found = model().fit(sources(frame, tmp_path)[kind], "y")
    expected = whole.decision_function(frame[NAMES])
    np.testing.assert_allclose(
        found.decision_function(iter([frame[NAMES][:1], frame[NAMES][1:]])),
        expected,
        rtol=0,
        atol=1e-8,
    )
    assert list(found.feature_names_in_) == NAMES
    assert list(found.classes_) == ["ill", "well"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_factors_in_files(frame, tmp_path, monkeypatch, loss, dtype):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 16)
    X, y = frame[NAMES].to_numpy(), frame["y"].to_numpy()
    whole = model(loss=loss, storage=LowRank()).fit(X, y)
    there = LowRank(folder=tmp_path, dtype=dtype)
    pairs = ((X[i : i + 25], y[i : i + 25]) for i in range(0, 90, 25))
    # Rounded factors have the optimum of other kernels, by their last digits.
    tol = 1e-10 if dtype == "float64" else 1e-7
    found = model(loss=loss, storage=there).set_params(tol=tol).fit(pairs, None)
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
    for data in ((X, y), (iter([(X[:40], y[:40]), (X[40:], y[40:])]), None)):
        found = there.fit(*data)
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
    loss = find_loss(model.loss)
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
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        with pytest.raises(OSError, match=r"needs .* and cannot have them"):
            model(storage=LowRank(folder=tmp_path)).fit(frame[NAMES], frame["y"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError):  # noqa: PT011
            model().fit(iter([frame]), "y")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("batches", "target", "message"),
    [
        ([], "y", "no row in any batch"),
        ([{"a": [1.0], "y": [1]}, {"b": [1.0], "y": [1]}], "y", "Batch 1 has other"),
        ([{"a": [1.0]}], "y", "A batch has no column 'y'"),
        ([{"a": ["x"], "y": [1]}], "y", "Column 'a' holds no numbers"),
        ([{"a": [1.0, None], "y": [1, 0]}], "y", "NaN"),
        ([{"a": [1.0, 2.0], "y": [1, 0]}], None, "requires y to be passed"),
    ],
    ids=str,
)
def test_bad_batches(batches, target, message):
    source = (pd.DataFrame(batch) for batch in batches)
    with pytest.raises(ValueError, match=message):
        SpicyMKLClassifier().fit(source, target)


def test_predictions_need_the_same_columns(frame):
    fitted = model().fit(iter([frame]), "y")
    with pytest.raises(ValueError, match="other columns than SpicyMKLClassifier"):
        fitted.predict(iter([frame[["b", "a", "c"]]]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "is no CSV file with a header"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", "is no CSV file"),
        ("a.csv", "a,a\n1,2\n", "several columns named 'a'"),
        ("a.csv", "a,b\n1,2\n", "has no 'z'; it has a, b"),
        ("a.parquet", "no", "is no Parquet file"),
        ("a.npz", "", "must end in one of"),
    ],
)
def test_bad_files(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        list(read_batches(path, drop=["z"] if "'z'" in message else ["a"]))


def test_options_of_storages_are_checked():
    for make in (
        lambda: LowRank(dtype="float32"),
        lambda: LowRank(folder=3),
    ):
        with pytest.raises(ValueError, match=r"folder|dtype"):
            make()


def test_parquet_is_not_held_whole(tmp_path):
    path, before = tmp_path / "rows.parquet", pa.total_allocated_bytes()
    numbers = np.random.default_rng(0).standard_normal(400_000)
    table = pa.table({"a": numbers, "b": numbers})
    pyarrow.parquet.write_table(table, path, row_group_size=10_000)
    del table
    held = [pa.total_allocated_bytes() - before for _ in read_batches(path)]
    assert len(held) == 40
    assert max(held) < 0.25 * path.stat().st_size
