"""FASTA files, right and wrong ones."""

import pytest

from multikernel.datasets import read_fasta


def test_records(tmp_path):
    path = tmp_path / "some.fa"
    path.write_text(
        "\n>first gene=ab1 label=1 note\nACG\nT T\r\n\n>second label=-1\nMKV*\n>\nac\n"
    )
    records = read_fasta(path)
    assert records.names == ["first", "second", ""]
    assert records.sequences == ["ACGTT", "MKV", "ac"]
    assert records.fields == {}
    path.write_text(">a gene=x label=1\nA\n>b label=1=2 c=\nC\n")
    assert read_fasta(path).fields == {"label": ["1", "1=2"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line starts with"),
        ("ACGT\n", "line 1 comes before any header"),
        ("\n;old comment\n>a\nA\n", "line 2 comes before"),
        (">a\nAC\n>b x=1\n\n>c\nA\n", "Record 1 of .*, 'b', has no letters"),
    ],
)
def test_sentences(tmp_path, text, message):
    path = tmp_path / "wrong.fasta"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_fasta(path)
