"""Indefinite matrices are found, kernels are not accused, and repairs repair."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import (
    DenseMatrix,
    DenseStack,
    ScaledStack,
    build_stack,
    check_definite,
    check_gram,
    lazy_stack,
    repair_gram,
)
from multikernel.gram.definite import _suspects, lowest_eigenvalue
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)


class Sigmoid(LinearKernel):
    def __call__(self, X, Y=None):
        return np.tanh(super().__call__(X, Y) - 0.5)


def spectrum(eigenvalues, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    K = (Q * eigenvalues) @ Q.T
    return 0.5 * (K + K.T)


@pytest.mark.parametrize("n", [2, 5, 33, 90])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("share", [1e-3, 0.1, 0.9])
def test_a_negative_eigenvalue_is_found(n, scale, share):
    eigenvalues = np.linspace(0.0, 1.0, n) ** 3
    eigenvalues[0] = -share * eigenvalues.sum()
    K = scale * spectrum(eigenvalues)
    found = lowest_eigenvalue(DenseMatrix(K))
    assert found == pytest.approx(scale * eigenvalues[0], rel=0.05, abs=0.0)
    assert found == lowest_eigenvalue(DenseMatrix(K))
    with pytest.raises(IndefiniteKernelError) as error:
        check_definite(DenseStack(K[None]), None, np.array([0]))
    assert error.value.kernel == 0
    assert f"{np.linalg.eigvalsh(K)[0]:.3g}" in str(error.value)


def test_a_direction_along_the_constant_vector_is_found():
    K = np.eye(60) - 1.5 / 60
    assert lowest_eigenvalue(DenseMatrix(K)) == pytest.approx(-0.5)


@pytest.mark.parametrize("seed", range(60))
def test_no_kernel_is_accused_for_its_rounding(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 90))
    rank = int(rng.integers(1, n + 1))
    Z = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-3, 3, size=rank)
    K = (Z @ Z.T).astype(np.float32)
    check_definite(DenseStack(np.array([K, K], dtype=np.float32)), None, np.arange(2))
    check_gram(K.astype(np.float64))


def test_the_eigenvalue_named_is_that_of_the_given_matrix():
    K = spectrum(np.array([-0.45, 1.0, 2.0]))
    stack = ScaledStack(DenseStack(K[None]), np.array([1e-3]))
    with pytest.raises(IndefiniteKernelError, match=r"eigenvalue of -0\.45, where"):
        check_definite(stack, None, np.array([0]))


def test_which_kernels_are_looked_at():
    array = np.stack([np.eye(4), np.eye(4) - 0.8, np.eye(4)])
    stack = DenseStack(array)
    check_definite(stack, None, np.array([0, 2]))
    check_definite(stack, None, np.array([0, 1]), "none")
    for active, how in (([1], "active"), ([], "all"), ([0], "all")):
        with pytest.raises(IndefiniteKernelError, match="repair_gram") as error:
            check_definite(stack, None, np.array(active, dtype=int), how)
        assert error.value.kernel == 1
    with pytest.raises(ValueError, match="how"):
        check_definite(stack, None, np.array([0, 1]), False)


@pytest.mark.parametrize("dense_bytes", [0, 2**28])
def test_kernels_of_this_library_are_not_evaluated_but_subclasses_are(dense_bytes):
    X = np.random.default_rng(0).normal(size=(40, 3))
    own = [GaussianKernel(1.0), ColumnKernel(LinearKernel(), 0), PolynomialKernel(2)]
    sound = ListDictionary([*own, RBF(1.0)])
    stack = lazy_stack(sound, X, dense_bytes)
    check_definite(stack, sound, np.arange(4), "all")
    bent = ListDictionary([*own, Sigmoid()])
    with pytest.raises(IndefiniteKernelError) as error:
        check_definite(lazy_stack(bent, X, dense_bytes), bent, np.arange(4))
    assert error.value.kernel == 3
    # What is vouched for is not looked at, whatever the stack says.
    check_definite(DenseStack(-np.ones((3, 2, 2))), ListDictionary(own), np.arange(3))


@pytest.mark.parametrize("how", ["clip", "shift", "flip"])
def test_a_repaired_matrix_is_a_kernel(how):
    eigenvalues = np.array([-2.0, -0.5, 0.0, 1.0, 4.0])
    K = spectrum(eigenvalues)
    given = K.copy()
    repaired = repair_gram(K, how)
    expected = {
        "clip": np.maximum(eigenvalues, 0.0),
        "shift": eigenvalues + 2.0,
        "flip": np.abs(eigenvalues),
    }[how]
    np.testing.assert_allclose(repaired, spectrum(expected), atol=1e-12)
    np.testing.assert_array_equal(repaired, repaired.T)
    np.testing.assert_array_equal(K, given)
    check_definite(DenseStack(repaired[None]), None, np.array([0]))
    sound = spectrum(np.maximum(eigenvalues, 0.0))
    np.testing.assert_allclose(repair_gram(sound, how), sound, atol=1e-12)


@pytest.mark.parametrize(
    ("K", "how", "message"),
    [
        (np.eye(2), "clamp", "how must be one of 'clip', 'shift', 'flip', got 'clamp'"),
        (np.ones((2, 3)), "clip", "must be square"),
        (np.array([[1.0, np.inf], [0.0, 1.0]]), "clip", "not finite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "clip", "not symmetric"),
    ],
)
def test_what_cannot_be_repaired(K, how, message):
    with pytest.raises(ValueError, match=message):
        repair_gram(K, how)


def bent(n, width, lowest, seed):
    """Return a Gaussian's matrix of unit trace with one eigenvalue of a given size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    K = GaussianKernel(width)(X)
    u = rng.normal(size=n)
    u /= np.linalg.norm(u)
    K -= np.outer(u, u @ K)
    K -= np.outer(K @ u, u)
    return K / np.trace(K) + lowest * np.outer(u, u)


def many(matrices, first=0):
    """Return so many matrices that they are not all looked at in full."""
    n = len(matrices[0]) if matrices else 300
    sound = [bent(n, 2.0, 0.0, 1000 + m) for m in range(4)]
    count = 2**25 * 28 // n**3 + 2
    return DenseStack(np.stack((sound * count)[:first] + matrices + sound * count))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("width", "lowest", "found_at_least"),
    [
        (7.0, -0.1, 10),
        (7.0, -0.01, 9),
        (7.0, -0.003, 8),
        (2.0, -0.02, 9),
        (2.0, -0.01, 8),
        (0.7, -0.05, 9),
        (0.7, -0.01, 7),
    ],
)
def test_the_probe_finds_what_its_documentation_says(
    dtype, width, lowest, found_at_least
):
    matrices = np.stack([bent(455, width, lowest, seed) for seed in range(10)])
    found = _suspects(DenseStack(matrices.astype(dtype)), list(range(10)))
    assert len(found) >= found_at_least


@pytest.mark.parametrize("width", [0.7, 2.0, 7.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_probe_accuses_no_kernel(width, dtype):
    X = np.random.default_rng(0).normal(size=(130, 3))
    kernels = [GaussianKernel(width), LinearKernel(), PolynomialKernel(3)]
    matrices = np.stack([K(X) for K in kernels] + [np.zeros((130, 130))])
    assert not _suspects(DenseStack(matrices.astype(dtype)), [0, 1, 2, 3])


@pytest.mark.parametrize("n", [1, 2, 5, 33])
def test_the_probe_takes_small_matrices(n):
    sound = spectrum(np.arange(float(n)))
    low = spectrum(np.append(np.arange(1.0, n), -0.2 * n**2))
    assert _suspects(DenseStack(np.stack([sound, low, sound])), [0, 1, 2]) == [1]
    hollow = np.ones((n, n)) - np.eye(n)
    assert _suspects(DenseStack(hollow[None]), [0]) == ([0] if n > 1 else [])


def test_a_pair_of_samples_too_much_alike_is_found():
    K = np.eye(455)
    K[3, 400] = K[400, 3] = 1.2
    stack = many([K], first=2)
    assert np.linalg.eigvalsh(K)[0] > -1e-3 * 455
    with pytest.raises(IndefiniteKernelError, match=r"eigenvalue of -0\.2, ") as error:
        check_definite(stack, None, np.arange(stack.shape[0]))
    assert error.value.kernel == 2


def test_what_slips_through_shows_in_the_sum():
    K = bent(300, 0.7, -5e-4, 0)
    stack = many([K], first=1)
    everyone = np.arange(stack.shape[0])
    assert not _suspects(stack, everyone.tolist())
    # In a sum with others it is not seen, and need not be: the sum is a kernel.
    assert check_definite(stack, None, everyone) == "probe"
    weights = np.where(everyone == 1, 1.0, 1e-5)
    for own in (weights, np.stack([np.ones(everyone.size), weights])):
        with pytest.raises(IndefiniteKernelError) as error:
            check_definite(stack, None, everyone, "auto", own)
        assert error.value.kernel == 1
    for how in ("active", "all"):
        with pytest.raises(IndefiniteKernelError):
            check_definite(stack, None, everyone, how)


def test_what_was_checked_is_said():
    stack = many([], first=0)
    everyone = np.arange(stack.shape[0])
    assert check_definite(stack, None, everyone) == "probe"
    assert check_definite(stack, None, everyone[:3]) == "full"
    assert check_definite(stack, None, everyone, "none") == "none"
    own = ListDictionary([GaussianKernel(1.0)] * everyone.size)
    assert check_definite(stack, own, everyone) == "formula"
    X = np.random.default_rng(0).normal(size=(30, 3))
    foreign = ListDictionary([RBF(1.0)])
    factors = build_stack(foreign, X, storage="low_rank").stack
    assert check_definite(factors, foreign, np.array([0])) == "factors"
