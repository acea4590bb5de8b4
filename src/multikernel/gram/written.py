"""From a dictionary and data to Gram matrices in a file, written now or before."""

from pathlib import Path
from pickle import PicklingError

from joblib import hash as fingerprint

from multikernel._typing import Array
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.files import (
    HEADER,
    MATRICES,
    Header,
    MemoryMapped,
    PathLike,
    learnt_steps,
    open_stack,
    write_stack,
)
from multikernel.gram.lazy.evaluate import make_samples, write_matrices
from multikernel.gram.lazy.plan import make_plan
from multikernel.gram.normalization import (
    Normalization,
    Steps,
    check_steps,
    empty_normalization,
)
from multikernel.kernels.base import KernelDictionary, kernel_name


def map_kernels(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Steps,
    sample_weight: Array | None,
    options: MemoryMapped,
) -> tuple[GramStack, Normalization]:
    """Write every Gram matrix to a file, or open the file that holds them.

    Matrices that are only scaled are written as they are, and scaled as they are used.

    Parameters
    ----------
    dictionary, X, normalize, sample_weight
        As in `build_stack`.
    options : MemoryMapped
        Where the file is.

    Returns
    -------
    stack : GramStack
        The normalised matrices, mapped from the file.
    normalization : Normalization
        What was learnt.

    Raises
    ------
    ValueError
        If the folder holds another stack, or one that is not whole.
    OSError
        If the disk has no room.
    """
    n_kernels, n_samples = len(dictionary), X.shape[0]
    steps = check_steps(normalize)
    learnt = empty_normalization(steps, n_kernels, n_samples, sample_weight)
    stored = () if learnt.only_scales else steps
    first, last = (kernel_name(dictionary[m]) for m in (0, n_kernels - 1))
    header = Header(
        f"{n_kernels} kernels, {first} to {last}",
        (n_kernels, n_samples, n_samples),
        options.dtype,
        tuple(str(step) for step in stored),
        _source(dictionary, X, stored, sample_weight if stored else None),
    )

    def write(array: Array) -> Normalization | None:
        own = learnt if stored else Normalization()
        write_matrices(array, make_plan(dictionary, X.shape[1]), make_samples(X), own)
        return learnt if stored else None

    folder = options.folder
    if folder is not None and any(
        (Path(folder) / name).exists() for name in (MATRICES, HEADER)
    ):
        array = _found(folder, header)
        learnt = learnt_steps(folder, learnt) if stored else learnt
    else:
        array = write_stack(folder, header, write)
    stack = DenseStack(array)
    return (stack if stored else learnt.learn_scales(stack)), learnt


def _found(folder: PathLike, wanted: Header) -> Array:
    """Return the matrices that a folder holds, if they are those that are wanted."""
    array, header = open_stack(folder)
    assert header is not None
    same = (header.source, header.shape, header.dtype)
    if not wanted.source or same != (wanted.source, wanted.shape, wanted.dtype):
        raise ValueError(
            f"{folder} holds another stack than is asked for ({header.name}, "
            f"{header.dtype} of shape {header.shape}, of other kernels, samples, "
            "weights or steps): name another folder, or remove this one."
        )
    return array


def _source(
    dictionary: KernelDictionary,
    X: Array,
    steps: tuple[object, ...],
    weights: Array | None,
) -> str:
    """Return a fingerprint of what matrices are computed from, "" if there is none."""
    try:
        found: str = fingerprint((dictionary, X, steps, weights))
    except (PicklingError, TypeError, AttributeError):
        return ""  # a kernel that cannot be pickled, as a function of a function
    return found
