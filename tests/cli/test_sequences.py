"""Sequences on the command line: FASTA files, and columns beside numbers."""

import json

import numpy as np
import pandas as pd
import pytest

from multikernel.persistence import load

DEGREE = "weighted_degree(degree=5, shift=2)"


@pytest.fixture
def sites():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), size=(60, 30))
    kind = np.where(np.arange(60) % 2 == 0, "site", "decoy")
    letters[kind == "site", 14], letters[kind == "site", 15] = "A", "G"
    letters[kind == "site", 20] = "T"
    frame = pd.DataFrame({"dna": ["".join(row) for row in letters], "kind": kind})
    frame["depth"] = rng.normal(size=60)
    return frame


@pytest.fixture
def fasta(sites, tmp_path):
    path = tmp_path / "sites.fasta"
    records = (
        f">s{i} kind={row.kind} depth={row.depth}\n{row.dna[:20]}\n{row.dna[20:]}\n"
        for i, row in enumerate(sites.itertuples())
    )
    path.write_text("".join(records))
    return path


def answer(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_fasta_end_to_end(run, sites, fasta, tmp_path):
    model = tmp_path / "model.skops"
    options = ("--target", "kind", "--drop", "depth", "--sequence-kernels", "dna")
    report = answer(
        run("fit", fasta, *options, "--method", "lp", "-o", model, "--json")
    )
    assert report["n_kernels"] == 7
    assert "weighted_degree(degree=20)[sequence]" in {
        kernel["name"] for kernel in report["kernels"]
    }
    told = answer(
        run("predict", model, fasta, "-t", "kind", "--drop", "depth", "--json")
    )
    assert told["score"] == report["training_score"]
    saved = load(model).predict(sites[["dna"]].rename(columns={"dna": "sequence"}))
    assert told["prediction"] == saved.tolist()
    assert told["score"] == np.mean(saved == sites["kind"])
    assert run("inspect", model).exit_code == 0


def test_columns_beside_numbers(run, sites, tmp_path):
    path, model = tmp_path / "sites.csv", tmp_path / "model.skops"
    sites.to_csv(path, index=False)
    options = ("--target", "kind", "--sequence", "dna", "--method", "lp")
    report = answer(run("fit", path, *options, "-o", model, "--json"))
    names = load(model)["model"].kernel_names_
    assert names[-2:] == ["spectrum(k=3)[dna]", f"{DEGREE}[dna]"]
    assert names[0] == "linear()[all numbers]"
    told = answer(run("predict", model, path, "-t", "kind", "--json"))
    assert told["score"] == report["training_score"]
    # The numbers are standardized, and the strings handed on.
    scaler = load(model)["scale"]
    assert scaler.fit_transform(sites[["dna", "depth"]])["depth"].mean() == (
        pytest.approx(0.0, abs=1e-12)
    )


def test_path_on_sequences(run, fasta):
    options = ("--target", "kind", "--n-alphas", 3, "--kernels", "linear")
    report = answer(run("path", fasta, *options, "--json"))
    assert report["n_kernels"] == 3
    assert len(report["path"]) == 3


def test_letters(run, sites, tmp_path):
    path = tmp_path / "sites.csv"
    options = ("--target", "kind", "--sequence", "dna", "--drop", "depth")
    sites["dna"] = sites["dna"].str.lower()
    sites.to_csv(path, index=False)
    result = run("fit", path, *options)
    assert result.exit_code == 1
    assert "--ignore-case" in " ".join(result.stderr.split())
    assert run("fit", path, *options, "--ignore-case").exit_code == 0
    sites["dna"] = [text.upper()[:-1] + "-" for text in sites["dna"]]
    sites.to_csv(path, index=False)
    assert run("fit", path, *options).exit_code == 1
    assert run("fit", path, *options, "--alphabet", "dna").exit_code == 1
    skip = ("--alphabet", "dna", "--skip-letters")
    assert run("fit", path, *options, *skip).exit_code == 0
    result = run("fit", path, *options, "--alphabet", "klingon")
    assert "dna, rna, protein" in " ".join(result.stderr.split())


def test_a_column_of_words_is_no_sequence_unless_told(run, sites, tmp_path):
    path = tmp_path / "sites.csv"
    sites["dna"] = [f"{text[:9]}-{row}" for row, text in enumerate(sites["dna"])]
    sites.to_csv(path, index=False)
    result = run("fit", path, "--target", "kind")
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert "--sequence" in said
    assert "more than half of the values differ" in said
    result = run("fit", path, "--target", "kind", "--sequence", "rna")
    assert "has no column 'rna'" in " ".join(result.stderr.split())


def test_damaged_fasta_is_one_sentence(run, tmp_path):
    path = tmp_path / "sites.fa"
    path.write_text("ACGT\n")
    result = run("fit", path, "--target", "kind")
    assert result.exit_code == 1
    assert "not a FASTA file" in " ".join(result.stderr.split())


def test_predictions_for_fasta_are_named(run, fasta, tmp_path):
    model, written = tmp_path / "model.skops", tmp_path / "written.csv"
    options = ("--target", "kind", "--drop", "depth", "--method", "uniform")
    assert run("fit", fasta, *options, "-o", model).exit_code == 0
    assert run("predict", model, fasta, "-o", written).exit_code == 0
    names = pd.read_csv(written)["name"]
    assert list(names) == [f"s{i}" for i in range(len(names))]


def test_what_newcomers_do_with_fasta(run, tmp_path):
    path = tmp_path / "plain.fa"
    path.write_text(">s1 from the gel\nACGT\n>s2\nACGA\n")
    result = run("fit", path, "-t", "class")
    assert "'>name class=promoter'" in " ".join(result.stderr.split())
    path.write_text(">s1 class=a\nacgt\n>s2 class=b\nacga\n")
    result = run("fit", path, "-t", "class")
    assert "--ignore-case reads them as upper case" in " ".join(result.stderr.split())


def test_fields_of_fasta_are_read_as_columns_of_csv(run, fasta, tmp_path):
    lines = fasta.read_text().replace(" depth=", " name=q depth=").splitlines()
    codes = [f" id=0{i % 2} icd=0{i % 2}" for i in range(60)]
    lines[::3] = [line + code for line, code in zip(lines[::3], codes, strict=True)]
    fasta.write_text("\n".join(lines))
    model = tmp_path / "model.skops"
    options = ("-t", "icd", "--task", "classification", "--drop", "kind,depth,id,name")
    fit = run("fit", fasta, *options, "--method", "uniform", "-o", model)
    assert fit.exit_code == 0, fit.stderr
    assert load(model)[-1].classes_.tolist() == ["00", "01"]
    answers = answer(run("predict", model, fasta, "--id", "id", "--json"))
    assert answers["id"] == ["00", "01"] * 30
    result = run("predict", model, fasta, "--id", "name")
    assert "two columns named 'name'" in result.stderr
    fasta.write_text(">a sequence=1\nACGT\n")
    assert "contain the field 'sequence'" in run("fit", fasta, "-t", "icd").stderr
