"""Building stacks: the right matrices, in the memory promised."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from multikernel.estimators import FixedWeightsMKLRegressor
from multikernel.exceptions import StackTooLargeError
from multikernel.gram import (
    ByKernelStack,
    DenseStack,
    LazyStack,
    LowRankStack,
    ScaledStack,
    build_stack,
    cross_gram,
)
from multikernel.kernels import (
    ColumnKernel,
    FunctionKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    ParameterGrid,
    PolynomialKernel,
    random_subset_gaussians,
    spicy_dictionary,
)
from multikernel.kernels.grams import SampleKernel


@pytest.fixture(name="X")
def samples():
    X = np.random.default_rng(0).normal(size=(25, 4))
    X.flags.writeable = False
    return X


def everything():
    return ListDictionary(
        [
            GaussianKernel(0.5),
            ColumnKernel(GaussianKernel(1.0), 2),
            LinearKernel(),
            GaussianKernel(3.0),
            RBF(2.0),
            ColumnKernel(PolynomialKernel(2), [3, 1]),
            ColumnKernel(GaussianKernel(4.0), 2),
            ColumnKernel(GaussianKernel(1.0), [2, 2]),
        ]
    )


def reference(dictionary, X, Y=None):
    return np.stack([dictionary[m](X, Y) for m in range(len(dictionary))])


@pytest.mark.parametrize(
    ("storage", "tol"), [("dense", 1e-12), ("dense32", 1e-6), ("lazy", 1e-12)]
)
def test_matrices(X, storage, tol):
    dictionary = everything()
    built = build_stack(dictionary, X, storage=storage)
    K = built.stack.columns(np.arange(25))
    np.testing.assert_allclose(K, reference(dictionary, X), rtol=tol, atol=10 * tol)
    np.testing.assert_array_equal(K, K.transpose(0, 2, 1))
    assert built.degenerate.size == 0
    assert built.normalization.steps == ()


def test_large_dictionary_is_exactly_symmetric(X):
    dictionary = spicy_dictionary(4)
    K = build_stack(dictionary, X).stack.array
    np.testing.assert_array_equal(K, K.transpose(0, 2, 1))
    np.testing.assert_allclose(K, reference(dictionary, X), rtol=1e-11)


def test_gaussians_of_any_order_find_their_place(X):
    grid = ParameterGrid([GaussianKernel(s) for s in (1.0, 2.0)], range(4))
    order = np.random.default_rng(1).permutation(len(grid))
    dictionary = ListDictionary([grid[int(m)] for m in order])
    K = build_stack(dictionary, X).stack.array
    np.testing.assert_allclose(K, reference(grid, X)[order], rtol=1e-12)


@pytest.mark.parametrize("storage", ["dense", "dense32", "lazy"])
@pytest.mark.parametrize(
    "normalize",
    [None, "trace", "variance", "cosine", "center", ("center", "trace")],
    ids=str,
)
def test_cross_gram_agrees_on_the_training_samples(X, storage, normalize):
    dictionary = everything()
    built = build_stack(dictionary, X, normalize=normalize, storage=storage)
    K = built.stack.columns(np.arange(25))
    tol = 1e-5 if storage == "dense32" else 1e-10
    for m in range(len(dictionary)):
        cross = cross_gram(dictionary[m], X[:7], X, built.normalization, m)
        np.testing.assert_allclose(cross, K[m, :7], rtol=tol, atol=tol)


def test_storage_kinds(X):
    dictionary = everything()
    assert isinstance(build_stack(dictionary, X).stack, DenseStack)
    assert build_stack(dictionary, X, storage="dense32").stack.array.dtype == np.float32
    lazy = build_stack(dictionary, X, storage="lazy").stack
    assert isinstance(lazy, LazyStack)
    too_small = build_stack(dictionary, X, max_bytes=8 * 25 * 25 * 11 - 1).stack
    assert isinstance(too_small, ByKernelStack | LowRankStack)
    far_too_small = build_stack(dictionary, X, max_bytes=8 * 25 * 25 * 6).stack
    assert isinstance(far_too_small, LowRankStack | LazyStack)
    scaled = build_stack(dictionary, X, storage="lazy", normalize="trace").stack
    assert isinstance(scaled, ScaledStack)


def test_a_stack_over_the_limit_is_refused_before_it_is_allocated(X):
    dictionary = random_subset_gaussians(1_000_000, 4, random_state=0)
    big = np.zeros((20_000, 4))
    tracemalloc.start()
    with pytest.raises(StackTooLargeError) as caught:
        build_stack(dictionary, big, storage="dense", max_bytes=10**9)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    message = str(caught.value)
    for part in (
        "1000000 Gram matrices of 20000 x 20000",
        "3.2e+03 TB",
        "the limit is 1 GB",
        "storage='low_rank'",
        "storage='lazy'",
        "storage='dense32'",
        "fewer kernels",
        "max_bytes",
        'The page "Memory and storage"',
    ):
        assert part in message
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == message
    with pytest.raises(StackTooLargeError) as caught:
        build_stack(everything(), X, storage="dense32", max_bytes=8 * 625 * 4 - 1)
    assert "dense32" not in str(caught.value)


@pytest.mark.parametrize("n", [25, 700])
def test_lazy_kernels_are_refused_below_one_matrix(n):
    X = np.random.default_rng(0).standard_normal((n, 4))
    dictionary = everything()
    least = 8 * n * n
    build_stack(dictionary, X, storage="lazy", max_bytes=least)
    message = (
        r"A weighted sum of lazy kernels .* samples would take .* or raise max_bytes"
    )
    for storage in ("lazy", "auto"):
        with pytest.raises(StackTooLargeError, match=message):
            build_stack(dictionary, X, storage=storage, max_bytes=least - 1)


def test_lazy_centering_over_the_limit_is_refused(X):
    dictionary = random_subset_gaussians(1000, 4, random_state=0)
    with pytest.raises(StackTooLargeError, match="The row means that"):
        build_stack(
            dictionary,
            X,
            normalize="center",
            storage="lazy",
            max_bytes=1000 * 25 * 8 - 1,
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"storage": "disk"}, "must be one of 'auto', .*'dense', .* got 'disk'"),
        (
            {"normalize": "unit"},
            "normalize must be None, one of 'trace', .* got 'unit'",
        ),
        ({"normalize": ("trace", "norm")}, "got 'norm'"),
    ],
)
def test_bad_arguments(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        build_stack(everything(), X, **arguments)


def test_no_kernels(X):
    class Empty:
        def __len__(self):
            return 0

        def __getitem__(self, index):
            raise IndexError

    with pytest.raises(ValueError, match="at least one kernel"):
        build_stack(Empty(), X)


@pytest.mark.parametrize("storage", ["dense", "dense32"])
def test_kernels_that_return_nonsense_are_named(X, storage):
    class Wrong:
        name = "wrong()"

        def __init__(self, value):
            self.value = value

        def __call__(self, X, Y=None):
            return self.value

        def diag(self, X):
            return np.ones(len(X))

    for value, message in (
        (
            np.ones((3, 3)),
            r"Kernel 1 \(wrong\(\)\) returned an array of shape \(3, 3\)",
        ),
        (np.full((25, 25), np.nan), r"Kernel 1 \(wrong\(\)\) has values .* not finite"),
    ):
        dictionary = ListDictionary([LinearKernel(), Wrong(value)])
        with pytest.raises(ValueError, match=message):
            build_stack(dictionary, X, storage=storage)


def test_a_given_matrix_is_not_changed():
    K = np.random.default_rng(0).normal(size=(6, 6))
    K = K @ K.T
    before = K.copy()
    numbers = np.arange(6.0)[:, None]
    for storage in ("dense", "dense32", "lazy"):
        built = build_stack(
            ListDictionary([SampleKernel(K, np.arange(6), "given")]),
            numbers,
            normalize=("center", "trace"),
            storage=storage,
        )
        built.stack.quadratic_forms(np.ones(6))
        np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("normalize", [None, "trace", ("center", "trace")], ids=str)
@pytest.mark.parametrize("storage", ["dense", "dense32"])
def test_building_needs_little_besides_the_stack(normalize, storage):
    X = np.random.default_rng(0).normal(size=(300, 6))
    dictionary = spicy_dictionary(6)
    build_stack(dictionary, X[:20], normalize=normalize, storage=storage)
    tracemalloc.start()
    stack = build_stack(dictionary, X, normalize=normalize, storage=storage).stack
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Beyond the stack: some matrices per thread, and the samples' means.
    assert peak < stack.array.nbytes + 80e6
    assert peak < 1.7 * stack.array.nbytes


def linear_dictionary(n_features):
    return ParameterGrid([LinearKernel()], [*range(n_features), slice(0, 2)])


def test_linear_kernels_are_held_as_factors():
    X = np.random.default_rng(0).standard_normal((20, 4))
    built = build_stack(linear_dictionary(4), X, normalize="variance")
    assert isinstance(built.stack, LowRankStack)
    assert built.stack.factors.shape == (20, 6)
    dense = build_stack(
        linear_dictionary(4), X, normalize="variance", storage="dense"
    ).stack
    everyone = np.arange(20)
    np.testing.assert_allclose(
        built.stack.columns(everyone), dense.columns(everyone), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("n_samples", [3, 5])
def test_factors_must_save_memory(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 2))
    dictionary = ListDictionary([LinearKernel()])
    held = build_stack(dictionary, X).stack
    assert isinstance(held, LowRankStack) == (n_samples >= 4)


def test_landmarks_are_used_where_kernels_are_no_features():
    dictionary = ListDictionary([LinearKernel(), GaussianKernel(1.0)])
    X = np.ones((5, 2))
    assert isinstance(build_stack(dictionary, X).stack, DenseStack)
    stack = build_stack(dictionary, X, storage="low_rank").stack
    np.testing.assert_array_equal(stack.ranks, [2, 1])


def test_factors_over_the_limit_are_refused():
    with pytest.raises(
        StackTooLargeError, match=r"factors of 5 of 5 kernels on 20 .* 960"
    ):
        build_stack(linear_dictionary(4), np.ones((20, 4)), max_bytes=959)
    build_stack(linear_dictionary(4), np.ones((20, 4)), max_bytes=960)


def test_values_too_large_for_single_precision_get_a_sentence():
    X = 1e25 * np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(ValueError, match=r"kernel 0 .* too large for single precision"):
        FixedWeightsMKLRegressor(
            [LinearKernel()], normalize=None, storage="dense32"
        ).fit(X, X[:, 0])


def test_complex_values_get_a_sentence():
    kernel = FunctionKernel(lambda X, Y: X @ Y.T + 1j)
    with pytest.raises(ValueError, match=r"Kernel 0 .* returned complex values"):
        build_stack(ListDictionary([kernel]), np.ones((4, 2)), storage="dense")
