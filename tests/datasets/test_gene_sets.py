"""Gene sets of GMT files become views; absent genes are dropped and counted."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from multikernel import SpicyMKLClassifier
from multikernel.datasets import read_gene_sets
from multikernel.exceptions import DataWarning

LINES = "P53\thttp://x\tTP53\tMDM2\tCDKN1A\tTP53\nMYC\tna\tMYC\tNCL\n\nOLD\tna\tABC\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "sets.gmt").write_text(LINES)
    return tmp_path / "sets.gmt"


def test_absent_genes_are_counted_in_one_warning(path):
    frame = pd.DataFrame(np.eye(4), columns=["MYC", "TP53", "CDKN1A", "OTHER"])
    with pytest.warns(DataWarning) as caught:
        sets = read_gene_sets(path, frame)
    assert len(caught) == 1
    assert "3 genes (in 3 of 3 sets)" in str(caught[0].message)
    assert "and the set 'OLD' with fewer" in str(caught[0].message)
    assert sets.views == {"P53": ["TP53", "CDKN1A"], "MYC": ["MYC"]}
    assert sets.absent == {"P53": 1, "MYC": 1, "OLD": 1}
    with pytest.warns(DataWarning, match="the sets 'MYC', 'OLD' with fewer than 2"):
        few = read_gene_sets(path, frame.columns, by="position", min_genes=2)
    assert few.views == {"P53": [1, 2]}


def test_sets_are_views_of_frames_and_of_sparse_tables(path):
    genes = ["MYC", "TP53", "CDKN1A", "MDM2", "NCL", "ABC"]
    X = np.random.default_rng(0).poisson(1.0, size=(60, 6)).astype(float)
    y = X[:, 1] + X[:, 2] > 2
    frame = pd.DataFrame(X, columns=genes)
    model = SpicyMKLClassifier(read_gene_sets(path, genes).views).fit(frame, y)
    assert max(model.view_shares_, key=model.view_shares_.get) == "P53"
    sets = read_gene_sets(path, genes, by="position").views
    views = {name: (places, ["cosine", "linear"]) for name, places in sets.items()}
    model = SpicyMKLClassifier(views).fit(sparse.csr_array(X), y)
    assert model.kernel_views_ == ["P53", "P53", "MYC", "MYC", "OLD", "OLD"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P53 na TP53\n", "Line 1 of .* has no genes"),
        ("A\tna\tTP53\nA\tna\tMYC\n", "Two sets .* have the name 'A'"),
        ("\n", "has no gene set"),
        ("A\tna\tENSG01\n", "name the columns like 'ENSG01', the first gene"),
    ],
)
def test_sentences(path, text, message):
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_gene_sets(path, ["TP53", "MYC"])


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "sets.gmt.gz"
    path.write_bytes(gzip.compress(b"MYC\tna\tMYC\n"))
    assert read_gene_sets(path, ["MYC"]).views == {"MYC": ["MYC"]}


def test_the_name_of_a_column_is_no_list_of_genes(tmp_path):
    with pytest.raises(ValueError, match="genes must be a list of names or a table"):
        read_gene_sets(tmp_path / "sets.gmt", "genes")
