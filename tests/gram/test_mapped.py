"""Gram matrices in a file: written whole or not at all, and opened again."""

import gc
import json
import pickle
import resource
from pathlib import Path

import numpy as np
import pytest

from multikernel.gram import DenseStack, MemoryMapped, build_stack
from multikernel.gram.files import HEADER, MARKER, MATRICES, joined, open_stack
from multikernel.kernels import GaussianKernel, LinearKernel, ListDictionary

KERNELS = ListDictionary([GaussianKernel(1.0), GaussianKernel(3.0), LinearKernel()])
STEPS = [None, "trace", "variance", ("cosine", "center", "trace")]


def samples(n=30, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def build(folder, X=None, **options):
    where = MemoryMapped(folder, options.pop("dtype", "float64"))
    X = samples() if X is None else X
    return build_stack(KERNELS, X, storage=where, **options)


def dense(stack):
    return stack.columns(np.arange(stack.shape[2]))


@pytest.mark.parametrize("normalize", STEPS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_stack_is_written_once_and_opened_again(
    tmp_path, monkeypatch, normalize, dtype
):
    whole = build_stack(KERNELS, samples(), storage="dense", normalize=normalize)
    first = build(tmp_path, normalize=normalize, dtype=dtype)

    def fill(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr("multikernel.gram.build.write_matrices", fill)
    again = build(tmp_path, normalize=normalize, dtype=dtype)
    rtol = 1e-6 if dtype == "float32" else 1e-14
    for built in (first, again):
        np.testing.assert_allclose(
            dense(built.stack), dense(whole.stack), rtol=rtol, atol=rtol
        )
        new, diagonals = np.ones((2, 30)), (np.ones(2), np.ones(30))
        expected = new.copy()
        whole.normalization.apply(1, expected, *(d.copy() for d in diagonals))
        built.normalization.apply(1, new, *diagonals)
        np.testing.assert_allclose(new, expected, rtol=10 * rtol)


def test_kernels_that_are_scaled_share_one_file(tmp_path):
    build(tmp_path, normalize="trace")
    before = (tmp_path / MATRICES).stat().st_mtime_ns
    built = build(tmp_path, normalize="variance")
    expected = build_stack(KERNELS, samples(), normalize="variance", storage="dense")
    np.testing.assert_allclose(dense(built.stack), dense(expected.stack), rtol=1e-14)
    assert (tmp_path / MATRICES).stat().st_mtime_ns == before


def test_a_header_says_what_the_file_holds(tmp_path):
    build(tmp_path, normalize=("cosine", "center"))
    header = json.loads((tmp_path / HEADER).read_text())
    assert header["shape"] == [3, 30, 30]
    assert header["dtype"] == "float64"
    assert header["normalize"] == ["cosine", "center"]
    assert header["name"].startswith("3 kernels, ")
    assert len(header["checksums"]) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"X": samples(seed=1)},
        {"X": samples(31)},
        {"dtype": "float32"},
        {"normalize": "center"},
    ],
    ids=str,
)
def test_a_folder_of_another_stack_is_refused(tmp_path, change):
    build(tmp_path)
    with pytest.raises(ValueError, match="holds another stack than is asked for"):
        build(tmp_path, **change)


def test_a_half_written_stack_is_refused(tmp_path):
    build(tmp_path)
    (tmp_path / HEADER).unlink()
    for attempt in (build, open_stack, lambda p: open_stack(p / MATRICES)):
        with pytest.raises(ValueError, match="was not written to its end"):
            attempt(tmp_path)


def test_a_damaged_stack_is_refused(tmp_path):
    build(tmp_path)
    path = tmp_path / MATRICES
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"Matrix 2 .* its checksum differs"):
        build(tmp_path)
    path.write_bytes(data[:-8])
    with pytest.raises(ValueError, match=r"no file of an array"):
        build(tmp_path)
    np.save(path, np.ones((3, 29, 29)))
    with pytest.raises(ValueError, match="it was changed"):
        build(tmp_path)
    (tmp_path / HEADER).write_text("{}")
    with pytest.raises(ValueError, match="is no header of a stack"):
        build(tmp_path)


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    begun = []

    def fill(array, *_):
        array[0] = 1.0
        begun.append({path.name for path in tmp_path.iterdir()})
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("multikernel.gram.build.write_matrices", fill)
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path)
    assert begun == [{MATRICES, MARKER}]
    assert list(tmp_path.iterdir()) == []
    build(tmp_path)


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, hard))
    try:
        with pytest.raises(OSError, match=r"needs 21.6 kB, and cannot have them"):
            build(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_at_the_header_names_it(tmp_path):
    # The checksums of so many small matrices are longer than the matrices.
    matrices = [np.eye(1, dtype=np.float32)] * 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, hard))
    try:
        with pytest.raises(OSError, match="file cannot be written") as caught:
            joined(matrices, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(tmp_path / HEADER)
    assert list(tmp_path.iterdir()) == []
    assert joined(matrices, tmp_path).shape == (2000, 1, 1)


def test_temporary_files_go_with_the_stack():
    array = joined([np.eye(3)])
    part = DenseStack(array).take(np.arange(1))
    folder = Path(array.base.filename).parent
    assert folder.exists()
    del array, part
    gc.collect()
    assert not folder.exists()


def test_another_process_gets_the_name_of_the_file():
    matrices = np.random.default_rng(0).normal(size=(40, 50, 50))
    stack = DenseStack(joined(list(matrices))).take(np.arange(3, 40))
    data = pickle.dumps(stack)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert again.in_file
    np.testing.assert_array_equal(again.array, matrices[3:])


def test_few_kernels_are_copied_and_many_are_views():
    matrices = np.random.default_rng(0).normal(size=(64, 8, 8))
    stack = DenseStack(joined(list(matrices)))
    few, many = stack.take(np.array([9, 1])), stack.take(np.arange(0, 64, 2))
    assert not np.shares_memory(few.array, stack.array)
    assert many.whole is stack
    assert not stack.array.flags.writeable


def test_files_that_are_no_stack_are_refused(tmp_path):
    cases = [
        (np.asfortranarray(np.ones((2, 3, 3))), "Fortran's order"),
        (np.ones((3, 3), dtype=int), "float64 or float32"),
        (np.ones(3), "float64 or float32"),
    ]
    for number, (array, message) in enumerate(cases):
        path = tmp_path / f"{number}.npy"
        np.save(path, array)
        with pytest.raises(ValueError, match=message):
            open_stack(path)
    with pytest.raises(ValueError, match="holds no stack of Gram matrices"):
        open_stack(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_stack(tmp_path / "none.npy")
