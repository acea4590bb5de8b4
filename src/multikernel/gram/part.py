"""Some samples of a stack in memory: without a copy, or normalised by themselves."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.gram.base import FEW, GramStack
from multikernel.gram.by_kernel import ByKernelStack, join_parts, steps_of_some
from multikernel.gram.capabilities import zero_kernels
from multikernel.gram.dense import (
    ENTRIES_PER_TASK,
    LOOPS,
    ROWS_PER_TASK,
    DenseMatrix,
    DenseStack,
    Stored,
    threads_for,
)
from multikernel.gram.factors.factorise import cut_low_rank
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.products import FactoredProducts, cut_products
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.memory import (
    byte_limit,
    check_room,
    readable_bytes,
    stack_bytes,
)
from multikernel.gram.normalization import (
    BuiltStack,
    Normalization,
    Steps,
    empty_normalization,
)
from multikernel.gram.products import ProductStack
from multikernel.linalg.tables import read_only
from multikernel.linalg.threads import Block, compiled, run_blocks


@dataclass(frozen=True, eq=False)
class PartStack(GramStack):
    """The rows and columns of some samples of a stack in memory, by their numbers.

    The folds of a cross-validation share one stack so. The matrices must be symmetric:
    products read their lower triangles only.

    Parameters
    ----------
    whole : DenseStack
        Square matrices of all samples; shared, not copied.
    samples : ndarray of shape (n_samples,)
        The samples, ascending, each once.
    chosen : ndarray of shape (n_kernels,), optional
        The kernels; all when left out.

    Raises
    ------
    ValueError
        If the samples do not ascend.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack, PartStack
    >>> whole = DenseStack(np.stack([np.eye(3), np.ones((3, 3))]))
    >>> PartStack(whole, np.array([0, 2])).quadratic_forms(np.array([1.0, 2.0]))
    array([5., 9.])
    """

    whole: DenseStack
    samples: Indices
    chosen: Indices | None = None

    in_memory = True

    def __post_init__(self) -> None:
        if np.any(np.diff(self.samples) <= 0):
            raise ValueError("The samples of a PartStack must ascend.")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.kernels.size, self.samples.size, self.samples.size

    @property
    def kernels(self) -> Indices:
        """Return the numbers of the kernels in the whole stack."""
        return np.arange(self.whole.shape[0]) if self.chosen is None else self.chosen

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        if v.size > len(v):
            return self._joint_forms(v)
        add_forms, array = compiled(LOOPS, "add_forms"), read_only(self.whole.array)
        kernels = self.kernels
        forms = np.zeros(kernels.size)
        padded = self._padded(v.reshape(-1))

        def work(part: slice) -> None:
            add_forms(array, kernels[part], self.samples, padded, forms[part])

        self._run(work, self._tasks())
        return forms

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        if v.size > len(v):
            return self._joint_images(v[None])
        return self._images(v.reshape(1, -1)).reshape(self.shape[0], *v.shape)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, shape (n_kernels, n_samples[, ...])."""
        if prod(coefs.shape[2:]) > 1:
            return self._joint_images(coefs)
        return self._images(coefs.reshape(coefs.shape[:2])).reshape(coefs.shape)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        combine_rows = compiled(LOOPS, "combine_rows")
        n = self.whole.shape[1]
        every = read_only(self.whole.array).reshape(-1, n)
        support = np.flatnonzero(weights)
        steps = n * self.kernels[support]
        factors = read_only(np.asarray(weights[support], dtype=np.float64))
        total = np.empty(self.shape[1:])

        def work(part: slice) -> None:
            task = part.start, part.stop
            combine_rows(every, steps, factors, self.samples, task, np.empty(n), total)

        self._run(work, _slices(self.samples.size, ROWS_PER_TASK))
        return DenseMatrix(total)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        cols = self.samples[indices]
        copy = self.whole.copied(self.kernels, self.samples, cols)
        return copy.array.astype(np.float64, copy=False)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self.whole.diagonals()[self.kernels[:, None], self.samples]

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, a view."""
        return PartStack(self.whole, self.samples, self.kernels[kernels])

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples, a view where they ascend."""
        rows = self.samples[samples]
        if np.all(np.diff(rows) > 0):
            return PartStack(self.whole, rows, self.chosen)
        return self.whole.copied(self.kernels, rows, rows)

    def sparse_matvec(self, support: Indices, values: Array) -> Array:
        """Return K_m v for every m and a v with few entries other than zero."""
        return self._sums_of_rows(support, values[None])

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        # Weights of all kernels of the whole stack; a kernel may occur twice in a part.
        every = np.zeros(self.whole.shape[0])
        np.add.at(every, self.kernels, weights)
        of_all = self.samples[rows]
        return self.whole.combined_rows(every, of_all)[:, self.samples]

    def _run(self, work: Callable[[Block], None], tasks: Iterable[Block]) -> None:
        """Work off tasks over all entries of the part."""
        run_blocks(work, tasks, threads_for(prod(self.shape)))

    def _tasks(self) -> Iterator[slice]:
        """Cut the kernels into what a thread takes at a time."""
        step = max(1, ENTRIES_PER_TASK // max(1, self.samples.size**2))
        return _slices(self.kernels.size, step)

    def _padded(self, vectors: Array) -> Array:
        """Return vectors over all samples, (..., n_samples), zero at the others."""
        padded = np.zeros((*vectors.shape[:-1], self.whole.shape[1]))
        padded[..., self.samples] = vectors
        return padded

    def _images(self, vectors: Array) -> Array:
        """Return products for (1 or n_kernels, n_samples) vectors."""
        support = np.flatnonzero(vectors.any(axis=0))
        if support.size <= FEW * self.samples.size:
            return self._sums_of_rows(support, vectors[:, support])
        write_images = compiled(LOOPS, "write_images")
        array = read_only(self.whole.array)
        padded = self._padded(vectors)
        images = np.empty(self.shape[:2])
        kernels = self.kernels

        def work(part: slice) -> None:
            buffer = np.empty((part.stop - part.start, self.whole.shape[1]))
            vectors_here = padded if len(padded) == 1 else padded[part]
            write_images(array, kernels[part], self.samples, vectors_here, buffer)
            images[part] = buffer[:, self.samples]

        self._run(work, self._tasks())
        return images

    def _sums_of_rows(self, support: Indices, values: Array) -> Array:
        """Return products for vectors with some entries other than zero."""
        rows = self.samples[support]
        return self.whole.sums_of_rows(self.kernels, rows, values)[:, self.samples]

    def _joint_forms(self, v: Array) -> Array:
        """Return tr(v^T K_m v) = <K_m, v v^T>, which reads a kernel once."""
        outer, forms = v @ v.T, np.empty(self.shape[0])
        kernels = self.kernels

        def evaluate(k: int) -> None:
            forms[k] = np.vdot(self._matrix(kernels[k]), outer)

        self._run(evaluate, range(kernels.size))
        return forms

    def _joint_images(self, vectors: Array) -> Array:
        """Return products for (1 or n_kernels, n_samples, n_outputs) vectors.

        With several outputs a copy of a matrix is no more than the product with it.
        """
        kernels = self.kernels
        images = np.zeros((*self.shape[:2], vectors.shape[2]))

        def multiply(k: int) -> None:
            vector = vectors[k % len(vectors)]
            if vector.any():
                np.matmul(self._matrix(kernels[k]), vector, out=images[k])

        self._run(multiply, range(kernels.size))
        return images

    def _matrix(self, kernel: int) -> Array:
        """Return one matrix in float64, a copy where some samples are left out."""
        matrix, some = self.whole.array[kernel], self.samples
        if some.size == len(matrix):
            return np.asarray(matrix, dtype=np.float64)
        block = np.empty((some.size, some.size))
        compiled(LOOPS, "write_cut")(read_only(matrix), some, block)
        return block


def _slices(size: int, step: int) -> Iterator[slice]:
    """Cut a range into slices of at most `step`."""
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def build_part(
    whole: GramStack,
    samples: Indices,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    max_bytes: int | None = None,
    n_copies: int = 1,
) -> BuiltStack | None:
    """Normalise some samples of a stack in memory by what these say alone.

    That is what `build_stack` gives for these samples.

    Parameters
    ----------
    whole : GramStack
        The matrices of all samples, not normalised.
    samples : ndarray of shape (n_chosen,)
        The samples, ascending.
    normalize : {"trace", "variance", "cosine", "center"}, sequence of these, or None
        As in `build_stack`.
    sample_weight : ndarray of shape (n_chosen,), optional
        Weights of the statistics that normalisation learns.
    max_bytes : int, optional
        Limit on the bytes of the stack and of all copies; half of the memory that is
        available now when left out, for copies alone.
    n_copies : int, default=1
        How many parts are held at a time.

    Returns
    -------
    built : BuiltStack or None
        A view where kernels are at most scaled, and a copy where they are centred or
        divided. None where the stack is not in memory, so that kernels must be computed
        again, by `build_stack`.

    Raises
    ------
    StackTooLargeError
        If the copies would not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack, build_part
    >>> whole = DenseStack(np.diag([1.0, 2.0, 4.0])[None])
    >>> part = build_part(whole, np.array([0, 2]), normalize="trace")
    >>> part.stack.diagonals()
    array([[0.4, 1.6]])
    """
    if isinstance(whole, FactoredProducts):
        learnt = empty_normalization(
            normalize, whole.shape[0], samples.size, sample_weight
        )
        return cut_products(whole, samples, learnt, sample_weight, max_bytes)
    if isinstance(whole, ByKernelStack):
        return _cut_both(whole, samples, normalize, sample_weight, max_bytes)
    if isinstance(whole, LowRankStack) and whole.landmarks is not None:
        return cut_low_rank(
            whole,
            samples,
            normalize=normalize,
            sample_weight=sample_weight,
            max_bytes=max_bytes,
        )
    n_kernels, n_all, _ = whole.shape
    learnt = empty_normalization(normalize, n_kernels, samples.size, sample_weight)
    stack: GramStack
    if isinstance(whole, ProductStack) and learnt.only_scales:
        stack = learnt.learn_scales(whole.restrict(samples))
    elif not isinstance(whole, DenseStack):
        return None
    elif learnt.only_scales:
        every = samples.size == n_all
        stack = learnt.learn_scales(whole if every else PartStack(whole, samples))
    else:
        _check_copies(whole, samples.size, max_bytes, n_copies)
        copy = whole.copied(np.arange(n_kernels), samples, samples)
        normalize_in_place(copy.array, learnt)
        stack = copy
    return BuiltStack(stack, learnt, zero_kernels(stack))


def _cut_both(
    stack: ByKernelStack,
    samples: Indices,
    normalize: Steps,
    sample_weight: Array | None,
    max_bytes: int | None,
) -> BuiltStack:
    """Return some samples of whole matrices and factors, normalised each."""
    assert stack.dictionary is not None

    def cut(part: GramStack, mask: NDArray[np.bool_]) -> BuiltStack:
        built = build_part(
            part,
            samples,
            normalize=steps_of_some(normalize, mask),
            sample_weight=sample_weight,
            max_bytes=max_bytes,
        )
        assert built is not None
        return built

    is_whole, n_kernels = stack.is_whole, stack.shape[0]
    parts = cut(stack.whole, is_whole), cut(stack.factored, ~is_whole)
    learnt = empty_normalization(normalize, n_kernels, samples.size, sample_weight)
    return join_parts(*parts, is_whole, stack.dictionary, learnt)


def _check_copies(
    held: DenseStack, n_samples: int, max_bytes: int | None, n_copies: int
) -> None:
    """Raise if copies of a part would pass the limit, together with the whole."""
    shape = held.shape[0], n_samples, n_samples
    copies = n_copies * stack_bytes(shape, held.array.itemsize)
    needed = copies + (0 if max_bytes is None else held.array.nbytes)
    check_room(
        f"Centring or dividing {shape[0]} kernels in every fold needs {n_copies} "
        f"copies of {readable_bytes(copies // n_copies)} at a time"
        f"{' beside the stack' * (max_bytes is not None)}, in all",
        needed,
        byte_limit(max_bytes),
        "Use normalize='trace', 'variance' or None, which need no copy, fewer jobs, or "
        "raise max_bytes.",
    )


def normalize_in_place(array: Stored, normalization: Normalization) -> None:
    """Learn empty steps of a normalisation from Gram matrices, and overwrite these."""

    def treat(m: int) -> None:
        K = array[m].astype(np.float64, copy=False)
        normalization.learn(m, K[None])
        if K.dtype != array.dtype:
            array[m] = K

    if normalization.steps:
        run_blocks(treat, range(array.shape[0]))
