"""How files are read: what is doubtful is refused or said once, and nothing is lost."""

import io
import re
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from cli.readers import read_in_partitions, read_table, read_whole

from multikernel.cli import main
from multikernel.datasets import read_fasta


def told(result):
    return " ".join(result.stderr.split())


ROWS = [(20 + k, (k * k % 17) + 0.5, (k % 9) + 0.5) for k in range(30)]


def body(separator, decimal="."):
    lines = [separator.join(map(str, row)) for row in ROWS]
    return "\n".join(lines).replace(".", decimal) + "\n"


HEADS = {
    "names with commas": ('"age (y, completed)";"dose (mg, daily)";y\n', ";", "."),
    "bare names with commas": ("age, years;dose, mg;y\n", ";", ","),
    "tabs": ("age, years\tdose, mg\ty\n", "\t", ","),
    "semicolons in names": ("a;1,b;2,y\n", ",", "."),
    "sep": ("sep=;\r\nage;dose;y\r\n", ";", "."),
    "sep with a mark": ('\ufeff"sep=|"\nage|dose|y\n', "|", "."),
    "blank line": ("\n \nage;dose;y\n", ";", "."),
    "comments": ("# made, by\n# hand\nage|dose|y\n", "|", "."),
    "commented header": ("#age,dose,y\n", ",", "."),
    "blanks": ("age dose y\n", " ", ","),
}


@pytest.mark.parametrize("case", HEADS)
def test_separators(tmp_path, case):
    head, separator, decimal = HEADS[case]
    path = tmp_path / "a.csv"
    path.write_bytes((head + body(separator, decimal)).encode())
    frame = read_whole(path)
    np.testing.assert_allclose(frame.to_numpy(float), ROWS)
    parts = read_in_partitions(path)
    assert list(parts.columns) == list(frame.columns)
    np.testing.assert_allclose(parts.to_numpy(float), ROWS)


def test_quotes_are_around_whole_fields(tmp_path):
    rows = "".join(f"-0,{k}4\tNA\tNone\n1,{k}5\tEU\tA\n" for k in range(9))
    path = tmp_path / "a.csv"
    path.write_text(f'size\t"x\ty"\tdose, daily\n{rows}', encoding="utf-8")
    for read in (read_whole, read_in_partitions):
        assert list(read(path)) == ["size", "x\ty", "dose, daily"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"a,b;c\nx,y;z\n",
            "ambiguous .commas or semicolons.: add a line above the header",
        ),
        ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        (b"caf\xe9,b\n1,2\n", "not UTF-8 text .byte 0xE9 after 'caf'"),
        (b"a   b\n1   2\n", "separated by several blanks"),
        (b"income;dose\n1.200;2,5\n950;3,25\n", "'dose' contains '2,5'.*'1.200' at"),
        (b"sep=;\n", "it ends before the header"),
    ],
)
def test_doubtful_forms(tmp_path, data, message):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    for read in (read_whole, read_in_partitions):
        with pytest.raises(ValueError, match=message):
            read(path)


def test_words_for_missing_values(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("x,t,e\n1,None,NA\nNA,A,NA\n3,,NA\n")
    frame = read_whole(path)
    assert frame["x"].tolist()[::2] == [1, 3]
    assert frame["t"].tolist()[:2] == ["None", "A"]
    assert frame.isna().to_numpy().tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1]]
    said = " ".join(capsys.readouterr().err.split())
    assert "Column 'x' holds 'NA' at row 1, read as missing. The same applies" in said
    assert "Column 't' holds 'None' at row 0, read as a category" in said
    parts = read_in_partitions(path)
    assert parts["x"].tolist()[::2] == [1, 3]
    assert parts["t"].tolist()[:2] == ["None", "A"]
    assert parts.isna().to_numpy().tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["01234", "98765"], "'01234', read as the number 1234"),
        (["12E3", "10"], "'12E3', read as the number 12000"),
        (["12345678901234567", "3"], "the number 12345678901234568"),
        (["250.00", "250.0"], "read as the same number"),
    ],
)
def test_codes(tmp_path, capsys, cells, said):
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"code": cells * 6, "x": np.arange(12) % 5, "y": 0.5})
    frame.to_csv(path, index=False)
    read_table(path, ["y"], [])
    note = " ".join(capsys.readouterr().err.split())
    assert said in note
    assert "use --category code to keep the text" in note.replace("'", "")
    table = read_table(path, ["y"], [], category=("code",))
    assert set(table.X["code"]) == set(cells)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("names", [[None], ["Unnamed: 0.1"], [None, "Unnamed: 0"]])
def test_row_numbers_are_no_feature(tmp_path, capsys, names):
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"a": np.arange(12) % 5, "id": range(101, 113), "y": 0.5})
    for name in names:
        frame = frame.reset_index()
        frame = frame.rename(columns={frame.columns[0]: name or ""})
    frame.to_csv(path, index=False)
    table = read_table(path, ["y"], [])
    assert list(table.X) == ["a", "id"]
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("it holds row numbers") == len(names)
    assert "Column 'id' holds increasing whole numbers, one per row" in said


@pytest.mark.parametrize(
    "cell",
    [
        *("<1", "-", "1,5"),
        *(
            pytest.param(cell, marks=pytest.mark.slow)
            for cell in ("N.A.", "#DIV/0!", "4a", "ten")
        ),
    ],
)
def test_a_target_with_one_odd_cell(run, tmp_path, cell):
    path = tmp_path / "a.csv"
    y = [cell if k == 7 else k % 11 for k in range(60)]
    x = np.arange(60) % 7
    frame = pd.DataFrame(
        {"x": x, "w": np.random.default_rng(0).normal(size=60), "y": y}
    )
    frame.to_csv(path, index=False)
    for command in (
        ("fit", path, "-t", "y"),
        ("fit", path, "-t", "y", "--stream"),
        ("fit", path, "-t", "x", "-t", "y"),
        ("fit", path, "-t", "y", "--task", "regression"),
        ("fit", path, "-t", "w", "--event", "y"),
        ("compare", path, "-t", "y"),
        ("path", path, "-t", "y"),
    ):
        result = run(*command)
        assert result.exit_code == 1
        assert f"Target 'y' holds {cell!r} at row 7, and numbers in most" in told(
            result
        )
        free = len(command) == 4 or command[-1] == "--stream"
        assert ("--task classification" in told(result)) == (free or "x" in command)
    model = tmp_path / "m.skops"
    options = ("--task", "classification", "--alpha", 0.5, "-o", model)
    assert run("fit", path, "-t", "y", "--kernels", "linear", *options).exit_code == 0
    assert run("score", model, path, "-t", "y").exit_code == 0


@pytest.fixture
def dna(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "a.FASTA"
    texts = ["".join(rng.choice(list("ACGT"), 60)) + "N" * 20 for _ in range(24)]
    records = [f">r{k} class={'ab'[k % 2]}\n{text}\n" for k, text in enumerate(texts)]
    path.write_text("\ufeff" + "".join(records), encoding="utf-8")
    return path


def test_dna_with_ambiguous_bases(run, dna, tmp_path):
    assert read_fasta(dna).names[0] == "r0"
    options = ("-t", "class", "--method", "uniform")
    result = run("fit", dna, *options)
    assert result.exit_code == 1
    assert "holds N beside A, C, G and T" in told(result)
    assert "--alphabet dna --skip-letters" in told(result)
    model = tmp_path / "m.skops"
    assert run("fit", dna, *options, "--skip-letters", "-o", model).exit_code == 0
    assert "ACGT" in run("inspect", model).stdout or run("predict", model, dna).stdout
    dna.write_text(dna.read_text().replace("N" * 20, ""), encoding="utf-8")
    assert run("fit", dna, *options, "-o", model).exit_code == 0
    dna.write_text(dna.read_text().replace("A\n", "N\n"), encoding="utf-8")
    result = run("predict", model, dna)
    assert "fit with --skip-letters" in told(result)
    assert "Alphabet(" not in told(result)


@pytest.mark.parametrize("codec", ["cp1252", "ascii", "cp437", "cp932", "latin-1"])
def test_consoles_of_other_encodings(monkeypatch, frame, tmp_path, codec):
    path = tmp_path / "a.CSV"
    frame = frame.rename(columns={"dose": "d\u014dse \u2265"})
    frame["outcome"] = frame["outcome"].replace({"ill": "\u03b1\u2192"})
    frame.to_csv(path, index=False)
    for words in (
        (
            "fit",
            path,
            "-t",
            "outcome",
            "--method",
            "uniform",
            "-o",
            tmp_path / "m.skops",
        ),
        ("predict", tmp_path / "m.skops", path),
        ("inspect", tmp_path / "m.skops"),
        ("fit", "--help"),
    ):
        out = io.TextIOWrapper(io.BytesIO(), encoding=codec)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "argv", ["multikernel", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        out.flush()
        text = out.buffer.getvalue().decode(codec)
        assert len(text) > 100
        assert "\\u2588" not in text


def test_a_file_that_ends_too_early_is_no_abort(run, csv, monkeypatch):
    def ends(*_):
        raise EOFError("Ran out of input")

    monkeypatch.setattr("multikernel.cli._fitting._read_table", ends)
    result = run("fit", csv, "-t", "outcome")
    assert result.exit_code == 1
    assert "A file is truncated (Ran out of input)" in told(result)


def test_options_in_messages_exist(run, csv, frame, tmp_path):
    model, new = tmp_path / "m.skops", tmp_path / "new.csv"
    options = ("-t", "outcome", "--drop", "amount", "--method", "uniform")
    assert run("fit", csv, *options, "-o", model).exit_code == 0
    for cells in (["<1", *frame["dose"][1:]], ["a"] * 60, [np.nan] * 60):
        frame.assign(dose=cells).to_csv(new, index=False)
        for more in ((), ("--stream",)):
            result = run("predict", model, new, *more)
            assert result.exit_code == 1
            said = told(result).replace("Fit with --impute", "")
            assert not {"--category", "--sequence", "--impute", "--drop"} & {
                *said.split()
            }
            assert "dose" in said


@pytest.mark.parametrize(
    ("cells", "meaning"),
    [
        (["2024-01-05", "2024-02-01"], "a date"),
        (["05/01/2024", "1/2/24"], "a date"),
        (["1,5", "2,25"], "a number"),
        (["1,200", "13,400"], "a number"),
        (["5 %", "7%"], "a number"),
        (["$1.50", "-$2"], "a number"),
        (["01:30", "12:00:10"], "a time of a day"),
        (["2020-01", "2020-02"], "a date"),
    ],
)
def test_targets_that_mean_something_else(tmp_path, cells, meaning):
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": range(8), "y": cells * 4}).to_csv(path, index=False)
    with pytest.raises(
        ValueError, match=f"'y' holds .{re.escape(cells[0])}., which means {meaning}"
    ):
        read_table(path, ["y"], [])
    labels = read_table(path, ["y"], [], labels=True).y
    assert labels.tolist() == cells * 4


def test_the_refused_cell_of_a_target_is_no_plain_number(tmp_path):
    path = tmp_path / "a.csv"
    cells = ["0.5", *["\u22121.5", "\u22120.25"] * 4]
    pd.DataFrame({"x": range(9), "y": cells}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"'\u22121\.5', which means a number"):
        read_table(path, ["y"], [])


@pytest.mark.parametrize("more", [(), ("--stream",), ("--no-scale",)])
def test_an_empty_column_is_named(run, tmp_path, more):
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"a": np.arange(12) % 5, "e": "", "y": np.arange(12) / 7})
    frame.to_csv(path, index=False)
    result = run("fit", path, "-t", "y", *more)
    said = told(result)
    assert result.exit_code == 1
    assert "RuntimeWarning" not in said
    assert "columns without any number: 'e'" in said
    assert "--drop 'e'" in said


@pytest.mark.parametrize("cell", ["0,64", "1 200", "5 %", "2020-01-05", "\u0663"])
def test_columns_that_mean_something_else(tmp_path, cell):
    path = tmp_path / "a.csv"
    pd.DataFrame({"a": [cell] * 12, "y": np.arange(12) / 7}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=f"'a' holds '{cell}', which means a"):
        read_table(path, ["y"], [])
    table = read_table(path, ["y"], [], category=("a",))
    assert set(table.X["a"]) == {cell}


def test_digits_of_other_scripts_are_no_numbers(tmp_path):
    path = tmp_path / "a.csv"
    pd.DataFrame({"a": range(12), "y": ["\u0663", *range(11)]}).to_csv(
        path, index=False
    )
    with pytest.raises(ValueError, match="holds '\u0663' at row 0, and numbers"):
        read_table(path, ["y"], [])


def test_row_numbers_from_the_last(tmp_path, capsys):
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"id": range(12, 0, -1), "x": np.arange(12) % 5, "y": 0.5})
    frame.to_csv(path, index=False)
    read_table(path, ["y"], [])
    said = " ".join(capsys.readouterr().err.split())
    assert "Column 'id' holds increasing whole numbers" in said


def test_files_that_cannot_be_opened(run, tmp_path):
    folder, missing = tmp_path / "folder.csv", tmp_path / "missing.csv"
    folder.mkdir()
    for path, reason in ((folder, "is a directory"), (missing, "no such file")):
        said = told(run("fit", path, "-t", "y"))
        assert f"Error: Cannot open {path}: {reason}" in said


def test_blanks_around_names_are_dropped(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a, b , y\n" + body(",").replace(",", ", "))
    assert list(read_whole(path).columns) == ["a", "b", "y"]
    assert list(read_in_partitions(path).columns) == ["a", "b", "y"]


@pytest.mark.parametrize("cell", ["0x1F", "1.5D3", "-2d-1"])
def test_numbers_of_other_languages_are_no_classes(run, tmp_path, cell):
    path = tmp_path / "a.csv"
    rows = [f"{k},{cell if k % 2 else '0x2A'}" for k in range(30)]
    path.write_text("x,y\n" + "\n".join(rows) + "\n")
    for column in "xy":
        other = {"x": "y", "y": "x"}[column]
        result = run("fit", path, "--target", column, "-o", tmp_path / "m.skops")
        assert "means a number: write it with decimal digits" in told(result), other


def test_points_between_thousands_need_no_comma(run, tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{k};{k}.200.000;{k % 7}\n" for k in range(1, 30))
    path.write_text(f"a;income;y\n{rows}", encoding="utf-8")
    assert read_whole(path)["income"].tolist() == [k * 1e6 + 2e5 for k in range(1, 30)]
    result = run("fit", path, "-t", "y")
    assert "thousands separators: column 'income' holds '1.200.000'" in told(result)


@pytest.mark.parametrize(
    "options", [{"unpenalized": ("a",)}, {"view": {"u": "a", "v": "b"}}]
)
@pytest.mark.parametrize("cells", [["<1", *range(5)], ["1,5", "2,5"], ["$5", "$7"]])
def test_only_category_makes_odd_cells_categories(tmp_path, options, cells):
    path = tmp_path / "a.csv"
    column = np.resize(np.array(cells, dtype=object), 30)
    pd.DataFrame({"a": column, "b": 0.5, "y": 0.5}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=f"'a' holds '{re.escape(cells[0])}'"):
        read_table(path, ["y"], [], **options)
    table = read_table(path, ["y"], [], category=("a",), **options)
    assert table.categories == ["a"]


def test_points_may_separate_thousands(run, tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m.skops"
    cells = ["1.200", "13.400", "950", "2.100"] * 8
    rows = [f"{k % 5};{cell}" for k, cell in enumerate(cells)]
    path.write_text("x;income\n" + "\n".join(rows) + "\n")
    for target in ("x", "income"):
        said = told(run("fit", path, "-t", target))
        assert "'income' of" in said
        assert "holds '1.200' at row 0, which may mean 1.2 or 1200: remove" in said
    # Other points of the file are decimal points.
    path.write_text("x;z;income\n" + "\n".join(f"0.5;{row}" for row in rows) + "\n")
    assert run("fit", path, "-t", "z", "--drop", "x", "-o", model).exit_code == 0
    path.write_text("income;k\n1.200;1\n1.300;2\n")
    result = run("predict", model, path)
    assert result.exit_code == 0
    assert "not as thousands separators: column 'income' holds '1.200'" in told(result)


@pytest.mark.parametrize("cells", [["NA", "1", "2"], ["None", "1", "2"], ["1", "1.0"]])
def test_declared_categories_and_classes_remain_text(tmp_path, cells):
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"x": range(12), "g": np.resize(cells, 12)})
    frame.assign(y=0.5).to_csv(path, index=False)
    table = read_table(path, ["y"], [], category=("g",))
    assert table.X["g"].tolist() == [*frame["g"]]
    table = read_table(path, ["g"], [], labels=True)
    assert table.y.tolist() == [*frame["g"]]


QUANTITIES = [
    ["10 mg", "12 mg", "7.5 mg"],
    ["50kg", "60kg", "1,000kg"],
    ["5 EUR", "6 EUR", "7 EUR"],
    ["USD5", "USD6", "USD7.5"],
    ["1 day", "3 days", "10 days"],
    ["1.5k", "2k", "3k"],
    ["12 mg/dl", "13 mg/dl", "14 mg/dl"],
    ["12 Jan 2024", "1 March 2024"],
    ["Jan-24", "Feb-24"],
]


@pytest.mark.parametrize("cells", QUANTITIES)
def test_units_and_months_are_refused(tmp_path, cells):
    path = tmp_path / "a.csv"
    pd.DataFrame({"a": np.resize(cells, 30), "y": 0.5}).to_csv(path, index=False)
    for name, target in (("Column", "y"), ("Target", "a")):
        with pytest.raises(ValueError, match=f"{name} 'a' holds '{cells[0]}', which"):
            read_table(path, [target], [])
    assert read_table(path, ["y"], [], category=("a",)).categories == ["a"]
    assert read_table(path, ["a"], [], labels=True).y[0] == cells[0]


@pytest.mark.parametrize(
    "cells",
    [
        ["type 2", "type 1", "type 3"],
        ["A1", "B1", "B2"],
        ["1st", "2nd", "3rd"],
        ["chr5", "chr6", "chrX"],
        ["2b", "1a", "3b"],
        ["10 mg", "20 mg"],
        ["3G", "4G", "5G"],
        ["Jan", "Feb", "May"],
        ["0", "A", "B"],
        ["Decile 1", "Decile 2", "Decile 3"],
        ["Marker 1", "Deck 2", "1 decade"],
        ["1 1", "1 2", "2 2"],
        ["3.2.1", "4.0.1", "4.1.0"],
    ],
)
def test_words_with_digits_are_classes(tmp_path, cells):
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": range(30), "a": np.resize(cells, 30)}).to_csv(path, index=False)
    assert read_table(path, ["a"], []).y[0] == cells[0]


@pytest.mark.parametrize("words", [["n.d."] * 3 + ["1.5", "2"], ["1", "TRUE"]])
def test_targets_of_numbers_and_words(tmp_path, words):
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": range(24), "a": np.resize(words, 24)}).to_csv(path, index=False)
    with pytest.raises(ValueError, match="'a' mixes numbers, such as"):
        read_table(path, ["a"], [])
    assert read_table(path, ["a"], [], labels=True).y[0] == words[0]


def test_cells_that_a_model_does_not_accept_are_named(run, tmp_path):
    path, model, new = tmp_path / "a.csv", tmp_path / "m.skops", tmp_path / "new.csv"
    frame = pd.DataFrame({"x": np.arange(30) % 7, "z": np.arange(30) % 5, "y": 0.5})
    frame = frame.assign(site=["a", "b"] * 15, y=frame["x"] + 0.5)
    frame.to_csv(path, index=False)
    options = ("-t", "y", "--method", "uniform", "-o", model)
    assert run("fit", path, *options).exit_code == 0
    for cell in ("5%", "7kg", "2024-01-01", "1,000"):
        frame.assign(z=cell).to_csv(new, index=False)
        said = told(run("predict", model, new))
        assert f"Column 'z' of {new} holds {cell!r} at row 0, but it held" in said
    frame.assign(z="TRUE").to_csv(new, index=False)
    said = told(run("predict", model, new))
    assert "True is read as 1, and false as 0: column 'z' holds 'TRUE' at row 0" in said
    frame.drop(columns="site").to_csv(new, index=False)
    assert "lacks columns that the model was fitted on: 'site'" in told(
        run("predict", model, new)
    )


def test_scored_labels_with_an_odd_cell(run, tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m.skops"
    frame = pd.DataFrame({"x": np.arange(30) % 7, "y": [0, 1] * 15})
    frame.to_csv(path, index=False)
    options = ("--task", "classification", "--method", "uniform", "-o", model)
    assert run("fit", path, "-t", "y", *options).exit_code == 0
    frame.assign(y=["0", "1", "<1", *["0"] * 27]).to_csv(path, index=False)
    said = told(run("score", model, path, "-t", "y"))
    assert "Target 'y' holds '<1' at row 2" in said


def test_messages_name_the_group_and_the_target(run, tmp_path):
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"x": np.arange(30) % 7, "y": 0.5, "z": ["a", "b"] * 15})
    frame["g"] = ["p", None, *["q"] * 28]
    frame.to_csv(path, index=False)
    said = told(run("fit", path, "-t", "y", "--group", "g", "--cv", 2, "--drop", "z"))
    assert f"--group: column 'g' of {path} is empty at row 1" in said
    said = told(run("fit", path, "-t", "y", "-t", "z", "--drop", "g"))
    assert "y, column 'z', must hold numbers, but it holds 'a'" in said


def test_matrices_of_a_fit_are_square(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, K=np.ones((6, 6, 2)), y=np.arange(6))
    with pytest.raises(ValueError, match=r"shape \(6, 6, 2\), but a fit requires"):
        read_table(path, ["y"], [])


def test_decimals_are_targets(tmp_path):
    path = tmp_path / "a.parquet"
    decimals = [Decimal(f"{k}.25") for k in range(8)]
    pd.DataFrame({"x": range(8), "y": decimals}).to_parquet(path)
    assert read_table(path, ["y"], []).y.tolist() == [k + 0.25 for k in range(8)]


def test_blanks_around_cells_are_noted(tmp_path, capsys):
    path = tmp_path / "a.csv"
    rows = "".join(f"{k}, {'ab'[k % 2]}, 0.5\n" for k in range(12))
    path.write_text(f"x, g, y\n{rows}")
    assert read_table(path, ["y"], []).X["g"].tolist() == [" a", " b"] * 6
    said = " ".join(capsys.readouterr().err.split())
    assert "Blanks around text are kept: column 'g' holds ' a' at row 0." in said
