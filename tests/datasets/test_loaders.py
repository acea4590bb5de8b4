"""Loading by name: the folder first, then scikit-learn."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from multikernel import stack_grams
from multikernel.datasets import available, load


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIKERNEL_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["unset", "empty", "no folder"])
def nothing_local(request, monkeypatch, tmp_path):
    folder = {"empty": "", "no folder": str(tmp_path / "none")}
    monkeypatch.delenv("MULTIKERNEL_DATA", raising=False)
    if request.param in folder:
        monkeypatch.setenv("MULTIKERNEL_DATA", folder[request.param])


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("value", [None, "", "elsewhere"])
def test_make_names_the_folder_beside_the_checkout(tmp_path, beside, value):
    checkout, data = tmp_path / "checkout", tmp_path / "shared" / "data"
    checkout.mkdir()
    if beside:
        data.mkdir(parents=True)
    makefile = Path(__file__).parents[2] / "Makefile"
    show = f'include {makefile}\nshow:\n\t@echo "[$$MULTIKERNEL_DATA]"\n'
    (checkout / "show.mk").write_text(show, encoding="utf-8")
    env = {k: v for k, v in os.environ.items() if k != "MULTIKERNEL_DATA"}
    env |= {} if value is None else {"MULTIKERNEL_DATA": value}
    line = ["make", "-s", "-f", "show.mk", "show"]
    done = subprocess.run(line, cwd=checkout, env=env, capture_output=True, text=True)
    assert done.stdout == f"[{value or (data if beside else '')}]\n"


def test_plain_set_from_the_folder(folder):
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    names = np.array(["a", "b"])
    np.savez(folder / "uci_sonar.npz", X=X, y=np.array([-1, 1]), feature_names=names)
    for name in ("sonar", "uci_sonar"):
        data = load(name)
        assert data.name == name
        np.testing.assert_array_equal(data.X, X)
        assert data.feature_names == ["a", "b"]
        assert name in available()


def test_names_of_two_classes_follow_labels_of_minus_and_plus_one(folder):
    y = np.array([1, -1, 1])
    np.savez(folder / "signs.npz", X=np.eye(3), y=y, class_names=["no", "yes"])
    assert load("signs", as_frame=True).y.tolist() == ["yes", "no", "yes"]


def test_views_are_blocks_of_columns(folder):
    X = np.arange(12.0).reshape(2, 6)
    np.savez(
        folder / "two.npz",
        X=X,
        y=np.array([0, 1]),
        view_start=np.array([0, 2, 6]),
        view_names=np.array(["left", "right"]),
    )
    data = load("two")
    np.testing.assert_array_equal(data.views["left"], X[:, :2])
    np.testing.assert_array_equal(data.views["right"], X[:, 2:])
    assert np.shares_memory(data.views["right"], data.X)


def test_frames_carry_the_names_of_a_set(folder):
    X, y = np.arange(12.0).reshape(2, 6), np.array([1, 0])
    blocks = {"view_start": [0, 2, 6], "view_names": ["left", "right"]}
    np.savez(folder / "two.npz", X=X, y=y, class_names=["no", "yes"], **blocks)
    data = load("two", as_frame=True)
    assert data.views == {
        "left": ["left0", "left1"],
        "right": ["right0", "right1", "right2", "right3"],
    }
    np.testing.assert_array_equal(data.X[data.views["right"]], X[:, 2:])
    assert data.y.tolist() == ["yes", "no"]
    features = np.array(list("abcdef"))
    np.savez(folder / "two.npz", X=X, y=y, feature_names=features, **blocks)
    data = load("two", as_frame=True)
    assert data.views["left"] == ["a", "b"]
    assert data.y.tolist() == [1, 0]
    K, samples = np.stack([np.eye(2), np.ones((2, 2))]), np.array(["s", "t"])
    names = {"kernel_names": ["one", "other"], "label_ids": ["u", "v", "w"]}
    np.savez(folder / "k.npz", K=K, Y=np.ones((2, 3)), y=y, sample_ids=samples, **names)
    data = load("k", as_frame=True)
    assert repr(stack_grams(data.K)) == "Gram matrices (2, 2, 2): 'one', 'other'"
    assert data.Y.columns.tolist() == ["u", "v", "w"]
    assert data.Y.index.tolist() == data.y.index.tolist() == ["s", "t"]
    table = np.array([list(b"ACGT"), list(b"TTTT")], dtype=np.uint8)
    np.savez(folder / "dna.npz", X=table, y=y)
    data = load("dna", as_frame=True)
    assert data.X["sequence"].tolist() == ["ACGT", "TTTT"]


def test_sequences_of_equal_and_of_different_lengths(folder):
    table = np.array([list(b"ACGT"), list(b"TTTT")], dtype=np.uint8)
    np.savez(folder / "dna.npz", X=table, y=np.array([1, -1]))
    assert load("dna").sequences == ["ACGT", "TTTT"]
    letters = np.frombuffer(b"MKVLW", dtype=np.uint8)
    np.savez(folder / "protein.npz", seq=letters, seq_start=np.array([0, 2, 5]))
    assert load("protein").sequences == ["MK", "VLW"]


def test_images_are_not_taken_for_sequences(folder):
    pixels = np.array([[0, 70], [80, 255]], dtype=np.uint8)
    np.savez(folder / "mnist_t10k.npz", X=pixels, y=np.array([3, 4]))
    assert "sequences" not in load("mnist")


def test_pickled_arrays_are_refused(folder):
    np.savez(folder / "evil.npz", X=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load("evil")


def test_a_name_cannot_leave_the_folder(folder):
    np.savez(folder.parent / "outside.npz", X=np.zeros((1, 1)))
    with pytest.raises(ValueError, match="There is no data set"):
        load("../outside")


def test_bundled_sets_need_no_folder(nothing_local):
    data = load("breast_cancer")
    truth = load_breast_cancer()
    np.testing.assert_array_equal(data.X, truth.data)
    np.testing.assert_array_equal(data.y == 1, truth.target == 1)
    assert set(data.y) == {-1, 1}
    assert load("iris").y.max() == 2
    assert available() == ("breast_cancer", "diabetes", "digits", "iris", "wine")


@pytest.mark.parametrize("name", ["liver", "sonar", "ringnorm", "splice", "mnist"])
def test_missing_file_is_named(nothing_local, name):
    with pytest.raises(
        FileNotFoundError, match=r"MULTIKERNEL_DATA .* contains \w+\.npz"
    ):
        load(name)


def test_unknown_name_lists_what_there_is(folder):
    np.savez(folder / "mine.npz", X=np.zeros((1, 1)))
    with pytest.raises(ValueError, match=r"'nope': use one of .*mine"):
        load("nope")


@pytest.mark.data("liver", "pima", "ionosphere", "wpbc", "sonar", "ringnorm", "splice")
@pytest.mark.parametrize(
    ("name", "shape", "n_positive"),
    [
        ("liver", (345, 6), 200),
        ("pima", (768, 8), 268),
        ("ionosphere", (351, 34), 225),
        ("wpbc", (198, 33), 47),
        ("sonar", (208, 60), 97),
        ("ringnorm", (7400, 20), 3736),
        ("splice", (2991, 60), 1344),
    ],
)
def test_sets_of_the_spicymkl_paper(name, shape, n_positive):
    data = load(name)
    assert data.X.shape == shape
    assert (data.y == 1).sum() == n_positive
    missing = 4 if name == "wpbc" else 0
    assert np.isnan(data.X.astype(float)).any(axis=1).sum() == missing
