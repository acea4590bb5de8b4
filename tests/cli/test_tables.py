"""Files in, files out."""

import numpy as np
import pandas as pd
import pytest
from cli.readers import read_table
from scipy.sparse import csr_array

from multikernel.cli._outputs import find_output, table_writer
from multikernel.cli._tables import FORMATS

FEATURES = ["age", "dose", "width"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_frames(frame, tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    getattr(frame, {"csv": "to_csv", "parquet": "to_parquet"}[ending])(
        path, index=False
    )
    table = read_table(path, ["outcome"], ["amount"])
    assert not table.precomputed
    assert list(table.X.columns) == FEATURES
    np.testing.assert_allclose(table.X, frame[FEATURES])
    assert table.y.tolist() == frame["outcome"].tolist()
    everything = read_table(path, [], ["outcome"])
    assert everything.y is None
    assert list(everything.X.columns) == [*FEATURES, "amount"]


@pytest.mark.parametrize("names", [None, ["left", "right"]])
def test_npz_with_features(tmp_path, names):
    X = np.array([[1, 2], [3, 4], [5, 6]])
    extra = {} if names is None else {"feature_names": np.array(names)}
    np.savez(tmp_path / "data.npz", X=X, label=np.array([1, 2, 3]), **extra)
    table = read_table(tmp_path / "data.npz", ["label"], [])
    assert list(table.X.columns) == (names or ["x0", "x1"])
    assert table.X.dtypes.eq(np.float64).all()
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, [1, 2, 3])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros(3)}, r"X of .* has shape \(3,\), expected \(n_rows"),
        ({"K": np.eye(3)}, r"K of .* has shape \(3, 3\), expected \(n_kernels"),
        (
            {"X": np.eye(3), "feature_names": ["a", "b"]},
            r"feature_names of .* has shape \(2,\), expected \(3,\)",
        ),
        (
            {"K": np.stack([np.eye(3)] * 2), "kernel_names": ["a", "a"]},
            "kernel_names of .* holds 'a' more than once",
        ),
    ],
)
def test_npz_of_other_shapes(tmp_path, arrays, message):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "data.npz", [], [])


def test_what_is_no_npz_file(tmp_path):
    (tmp_path / "data.npz").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"data\.npz is not a valid npz file"):
        read_table(tmp_path / "data.npz", [], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"is not a valid CSV file with a header: it is empty"),
        ("a,b,y\n", "has no rows"),
        (
            "a,b,y\n1,2,3\n1,2,3,4\n",
            "has more fields in row 1 .4. than in its header .3.",
        ),
        ("a,b,y\n1,2,3,4\n5,6,7,8\n", "has rows with more fields than its header"),
        ("a,a,y\n1,2,3\n", "has several columns named 'a'"),
        ("y\n1\n2\n", "has no features"),
    ],
)
def test_csv_files_that_are_none(tmp_path, text, message):
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"data\.csv {message}"):
        read_table(tmp_path / "data.csv", ["y"], [])


@pytest.mark.parametrize(("ending", "kind"), [("parquet", "Parquet"), ("npz", "npz")])
def test_empty_files(tmp_path, ending, kind):
    (tmp_path / f"data.{ending}").write_text("")
    with pytest.raises(ValueError, match=rf"data\.{ending} is not a valid {kind} file"):
        read_table(tmp_path / f"data.{ending}", [], [])


def test_npz_with_gram_matrices(gram_file):
    table = read_table(gram_file, ["y"], [])
    assert table.precomputed
    assert table.X.names == ("by age", "by dose", "by width")
    with np.load(gram_file) as archive:
        K = archive["K"]
    assert table.X.shape == (60, 60, 3)
    np.testing.assert_array_equal(table.X[:, :, 1], K[1])


@pytest.mark.parametrize(
    ("target", "drop", "message"),
    [
        (
            "income",
            [],
            r"has no column 'income': use one of its columns age, .*, amount, name\.",
        ),
        ("outcome", ["size"], r"has no column 'size': use one of its columns age"),
        (
            "amount",
            [],
            r"non-numeric columns: name \(name .* differ\)\)\. .* 'name'",
        ),
    ],
)
def test_wrong_columns(csv, frame, target, drop, message):
    named = frame.assign(name=[f"patient {k}" for k in range(len(frame))])
    named.to_csv(csv, index=False)
    with pytest.raises(ValueError, match=message):
        read_table(csv, [target], drop)


@pytest.mark.parametrize("content", ["a sparse table", "Gram matrices", "not a valid"])
def test_an_npz_file_of_another_kind_than_the_fit(run, csv, frame, tmp_path, content):
    model, path = tmp_path / "model.skops", tmp_path / "data.npz"
    assert run("fit", csv, "-t", "outcome", "-o", model).exit_code == 0
    X = csr_array(np.maximum(frame[["age", "dose", "width", "amount"]], 0))
    parts = {key: getattr(X, key) for key in ("data", "indices", "indptr")}
    shape = np.array(X.shape, float if content == "not a valid" else int)
    grams = {"K": (X @ X.T).toarray()[None]}
    np.savez(path, **(grams if "Gram" in content else parts | {"shape": shape}))
    result = run("predict", model, path)
    assert result.exit_code == 1
    assert f"{path}" in result.stderr
    assert content in result.stderr


def test_npz_without_features(tmp_path):
    np.savez(tmp_path / "data.npz", y=np.arange(3))
    with pytest.raises(ValueError, match="has no column 'X': use one of its columns y"):
        read_table(tmp_path / "data.npz", ["y"], [])


def test_unknown_formats(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.csv, \.parquet, \.npz"):
        read_table(tmp_path / "data.xlsx", ["y"], [])
    with pytest.raises(ValueError, match=r"Cannot write .*data\.xlsx"):
        find_output(tmp_path / "data.xlsx", (), FORMATS)


def write_table(frame, place):
    with table_writer(place, FORMATS) as write:
        write(frame)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_predictions_come_back(tmp_path, ending):
    frame = pd.DataFrame({"prediction": ["ill", "well"], "probability_ill": [0.7, 0.1]})
    path = tmp_path / f"predictions.{ending}"
    write_table(frame, find_output(path, (), FORMATS))
    if ending == "npz":
        with np.load(path, allow_pickle=False) as archive:
            back = pd.DataFrame({key: archive[key] for key in archive.files})
    else:
        back = getattr(pd, f"read_{ending}")(path)
    assert back.to_dict("list") == frame.to_dict("list")


GOOD = np.random.default_rng(0).standard_normal((6, 2))
LABELS = np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": GOOD.astype("datetime64[s]")}, "X of .* holds datetime64.*real numbers"),
        ({"X": GOOD + 1j}, "X of .* holds complex128, expected real numbers"),
        ({"X": GOOD.astype("S3")}, r"X of .* holds \|S3, expected real numbers"),
        ({"K": np.zeros((1, 6, 6)) + 1j}, "K of .* holds complex128"),
        (
            {"feature_names": np.array("a")},
            r"feature_names of .* has shape \(\), expected",
        ),
        (
            {"feature_names": np.array([["a"], ["b"]])},
            r"feature_names of .* has shape \(2, 1\), expected \(2,\)",
        ),
        ({"y": np.array(1)}, r"Target 'y' of .* has shape \(\), expected \(6,\)"),
        ({"y": np.empty(0)}, r"Target 'y' of .* has shape \(0,\), expected"),
        ({"y": LABELS[:, None]}, r"Target 'y' of .* has shape \(6, 1\)"),
        ({"y": LABELS + 1j}, "targets of .* must be real numbers, text or booleans"),
        ({"y": LABELS.astype("datetime64[s]")}, "targets of .* must be real numbers"),
        ({"y": LABELS.astype("S1")}, "targets of .* must be real numbers, text or"),
        ({"X": GOOD[:0], "y": LABELS[:0]}, "has no rows"),
    ],
)
def test_npz_arrays_that_are_no_data(tmp_path, arrays, message):
    path = tmp_path / "data.npz"
    np.savez(path, **({"X": GOOD, "y": LABELS} | arrays))
    with pytest.raises(ValueError, match=message):
        read_table(path, ["y"], [])


def test_an_npz_file_that_is_none(tmp_path):
    path = tmp_path / "data.npz"
    with path.open("wb") as file:
        np.save(file, GOOD)
    with pytest.raises(
        ValueError, match=r"data\.npz is not a valid npz .* a single array"
    ):
        read_table(path, [], [])
    np.savez(path, X=GOOD)
    data = bytearray(path.read_bytes())
    data[data.find(b"PK\x01\x02") + 8] |= 1  # says that it is encrypted
    data[6] |= 1
    path.write_bytes(data)
    with pytest.raises(
        ValueError, match=r"data\.npz is not a valid npz file .*encrypted"
    ):
        read_table(path, [], [])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series(GOOD[:, 0] + 1j), r"complex numbers \(column 'a'\): pass the real"),
        (
            pd.Series(pd.date_range("2020", periods=6)),
            r"dates: use them with --date 'a', or ignore the column with --drop 'a'\.$",
        ),
        (pd.Series([[1], [2], [3], [4], [5], [6]]), r"holds lists \(column 'a'\)"),
    ],
)
def test_columns_that_are_no_real_numbers(tmp_path, monkeypatch, column, message):
    frame = pd.DataFrame({"a": column, "y": LABELS})
    monkeypatch.setattr(pd, "read_parquet", lambda _: frame)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "data.parquet", ["y"], [])
    with pytest.raises(ValueError, match=r"The targets of .*data\.parquet must be"):
        read_table(tmp_path / "data.parquet", ["a"], [])


def test_missing_labels_are_refused(tmp_path):
    (tmp_path / "data.csv").write_text("a,y\n1,yes\n2,\n3,no\n")
    with pytest.raises(ValueError, match="is missing at row 1"):
        read_table(tmp_path / "data.csv", ["y"], [])


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_predictions_are_written_whole_or_not_at_all(tmp_path, monkeypatch, ending):
    path = tmp_path / f"predictions.{ending}"
    write_table(pd.DataFrame({"a": [1.0]}), find_output(path, (), FORMATS))
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("multikernel.persistence.places.os.fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device\): .*{path.name}"):
        write_table(pd.DataFrame({"a": [2.0]}), find_output(path, (), FORMATS))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_blanks_in_a_header_are_seen(run, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age,  dose,two  blanks,y\n" + "1,2,3,0.5\n2,1,4,1.5\n3,5,6,2\n")
    said = run("fit", path, "-t", "weight").stderr
    assert (
        "has no column 'weight': use one of its columns age, dose, 'two  blanks', y."
        in said
    )
    for name in ("dose", "two  blanks"):
        assert read_table(path, [name], ["age"]).y.shape == (3,)
        assert name not in read_table(path, ["y"], [f"age,{name}"]).X


def test_other_blanks_are_one_where_lines_end(run):
    said = run("inspect", "two  blanks\n  and\r\n\ta line").stderr
    assert "two  blanks and a line" in said


BEYOND = [("1e308", "1e+308"), ("-1e101", "-1e+101"), ("inf", "inf")]


@pytest.mark.parametrize(("value", "shown"), BEYOND)
@pytest.mark.parametrize(
    "more", [(), ("--no-scale",), ("--stream",), ("--impute", "mean")], ids=str
)
def test_numbers_out_of_reach_are_named(run, tmp_path, value, shown, more):
    path = tmp_path / "data.csv"
    rows = [f"{k},{k % 3},{k / 7}" for k in range(9)]
    path.write_text("\n".join(["age,dose,y", *rows, f"1,{value},2.5"]))
    result = run("fit", path, "-t", "y", *more)
    assert result.exit_code == 1
    assert (
        f"Column 'dose' of {path} holds {shown}, but absolute values" in result.stderr
    )
    assert "Warning" not in result.stderr


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of Dask's workers
def test_partitions_with_numbers_out_of_reach_are_named(run, tmp_path):
    path = tmp_path / "data.csv"
    # The first 10 000 rows are looked at before, and hold none of them.
    rows = [f"{k % 7 + 0.5},{k % 3 + 0.5},{k % 5 + 0.5}" for k in range(10_000)]
    path.write_text("\n".join(["age,dose,y", *rows, "1,1e308,1", "1,-1e308,2"]))
    result = run("fit", path, "-t", "y", "--stream")
    assert result.exit_code == 1
    assert f"Column 'dose' of {path} holds 1e+308, but absolute values" in result.stderr


def test_wide_tables_are_not_read_column_by_column(tmp_path, monkeypatch):
    columns = [f"c{k}" for k in range(300)]
    path, calls = tmp_path / "wide.csv", []
    frame = pd.DataFrame(np.arange(900.0).reshape(3, 300) + 0.5, columns=columns)
    frame["c7"] = [1, 2, 3]
    frame["y"] = [0.5, 1.5, 1.0]
    frame.to_csv(path, index=False)
    single = pd.DataFrame._ixs

    def counted(*arguments, **options):
        calls.append(arguments)
        return single(*arguments, **options)

    monkeypatch.setattr(pd.DataFrame, "_ixs", counted)
    table = read_table(path, ["y"], [])
    assert table.X.shape == (3, 300)
    assert len(calls) < 10


@pytest.mark.parametrize(
    "text",
    [
        "NA,NA\n1,2\n",
        "\ufeffa,a\n1,2\n",
        "\n  \na,b,a\n1,2,3\n",
        '"a\nb","a\nb"\n1,2\n',
    ],
    ids=["NA", "mark", "blank lines", "line in a name"],
)
def test_names_that_are_there_twice(tmp_path, text):
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="several columns named"):
        read_table(path, [], [])
