"""Matrices, products and linear systems on a device equal those in memory."""

import numpy as np
import pytest
from reference.interactions import interactions_of

from multikernel.exceptions import StackTooLargeError
from multikernel.gram import (
    Device,
    DeviceProducts,
    LowRank,
    Refinement,
    build_stack,
    device_stack,
)
from multikernel.gram.checks import is_semidefinite
from multikernel.gram.device.factors import with_device
from multikernel.gram.device.space import Space, open_space
from multikernel.gram.refine import refined
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
    TanimotoKernel,
    per_column,
)

RNG = np.random.default_rng(0)
# Arrays of one of its devices cannot be mixed with those of another one.
DEVICE = Device("array_api_strict", "device1")


def systems(n=9):
    Z = RNG.normal(size=(3, n, n))
    return Z @ Z.transpose(0, 2, 1)


@pytest.mark.parametrize(
    "normalize", [None, "variance", ["center", "trace"], ["center", "cosine"]]
)
def test_kernels_are_those_in_memory(normalize):
    kernels = ListDictionary(
        [
            GaussianKernel(1.0),
            ColumnKernel(GaussianKernel(0.5), [2, 0]),
            ColumnKernel(GaussianKernel(2.0), [2, 0]),
            ColumnKernel(LinearKernel(), 1),
            PolynomialKernel(3, offset=0.5, scale=2.0),
            TanimotoKernel(),
        ]
    )
    X, weights = RNG.random((12, 3)), RNG.random(12)
    options = {"normalize": normalize, "sample_weight": weights}
    there = build_stack(kernels, X, storage=DEVICE, **options).stack
    here = build_stack(kernels, X, storage="dense", **options).stack
    every = np.arange(12)
    np.testing.assert_allclose(there.columns(every), here.columns(every), atol=1e-12)


def test_values_that_are_not_finite_are_refused():
    class Infinite(GaussianKernel):
        def __call__(self, X, Y=None):
            return np.full((len(X), len(X)), np.inf)

    with pytest.raises(ValueError, match="Kernel 0"):
        build_stack(ListDictionary([Infinite(1.0)]), np.ones((3, 1)), storage=DEVICE)


def test_values_beyond_single_precision_are_refused():
    single = Device("array_api_strict", precision="float32")
    with pytest.raises(ValueError, match=r"kernel 0 \(linear\(\)\).*storage='dense'"):
        build_stack(
            ListDictionary([LinearKernel()]), np.full((3, 1), 1e30), storage=single
        )


def test_a_root_halves_solutions():
    K, shift, sides = systems()[:1], RNG.random(9) + 0.1, RNG.normal(size=(9, 2))
    root = device_stack(K, DEVICE).combine(np.ones(1)).root(shift)
    expected = np.linalg.solve(K[0] + np.diag(shift), sides)
    halves = root.half(sides)
    np.testing.assert_allclose(root.rest(halves), expected, atol=1e-10)
    np.testing.assert_allclose(halves.T @ halves, sides.T @ expected, atol=1e-10)


def test_an_indefinite_matrix_has_no_root():
    indefinite = device_stack(-systems()[:1], DEVICE).combine(np.ones(1))
    assert indefinite.root(np.full(9, 1e-3)) is None


@pytest.mark.parametrize(("sign", "proven"), [(1.0, True), (-1.0, False)])
def test_matrices_are_proven_semidefinite_there(sign, proven):
    flat = np.ones((1, 9, 9)) * sign
    assert is_semidefinite(device_stack(flat, DEVICE).combine(np.ones(1))) is proven


def test_forms_of_all_pairs_are_those_of_their_matrices():
    mains = systems()
    pairs = [(0, -1), (0, 1), (0, 2), (1, 2), (1, 1)]
    stack = DeviceProducts(device_stack(mains, DEVICE), np.array(pairs))
    whole = np.stack([mains[i] * (mains[j] if j >= 0 else 1.0) for i, j in pairs])
    some = np.array([4, 0, 7])
    for part, K in (
        (stack, whole),
        (stack.restrict(some), whole[:, some][:, :, some]),
    ):
        v = RNG.normal(size=(part.shape[1], 2))
        expected = np.einsum("ic,mij,jc->m", v, K, v)
        np.testing.assert_allclose(part.quadratic_forms(v), expected)


def test_forms_of_all_pairs_by_factors():
    X = np.column_stack([RNG.integers(0, 3, (40, 5)), RNG.normal(size=(40, 2))])
    spec = Interactions(per_column(GaussianKernel(1.0), 7))
    pairs = interactions_of(spec.kernels, X, None, spec)
    factored = Device("array_api_strict", "device1", factors=True)
    there = build_stack(pairs, X, normalize="variance", storage=factored).stack
    here = build_stack(pairs, X, normalize="variance", storage="low_rank").stack
    for v in (RNG.normal(size=40), RNG.normal(size=(40, 2))):
        forms = here.quadratic_forms(v)
        np.testing.assert_allclose(there.quadratic_forms(v), forms)
        level = float(np.median(forms))
        for a, b in zip(
            there.largest_forms(v, level, 4),
            here.largest_forms(v, level, 4),
            strict=True,
        ):
            np.testing.assert_allclose(a, b)


def test_finer_factors_stay_on_the_device():
    X = RNG.normal(size=(60, 2))
    kernels, v = ListDictionary([GaussianKernel(0.3)]), RNG.normal(size=60)
    coarse = build_stack(kernels, X, storage=LowRank(first=5))
    stack = with_device(coarse, open_space(DEVICE)).stack
    finer = refined(stack, Refinement(v, {0: 0.0}))
    assert finer.space is stack.space
    assert finer.residual_bounds(v) < stack.residual_bounds(v)
    exact = v @ GaussianKernel(0.3)(X) @ v
    assert finer.quadratic_forms(v) <= exact * (1.0 + 1e-12)
    assert exact <= finer.quadratic_forms(v) + finer.residual_bounds(v)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (Device("array_api_strict", "other"), ValueError, "float64 on other.*'cpu'"),
        (Device("numpy", "other"), ValueError, "float64 on other.*'cpu'"),
    ],
)
def test_unknown_devices_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        device_stack(systems(), settings)


def test_libraries_that_are_not_installed_are_named(monkeypatch):
    missing = set[str]()

    def find(name):
        return None if name in missing else object()

    monkeypatch.setattr("multikernel.gram.device.space.find_spec", find)
    missing |= {"torch", "cupy"}
    with pytest.raises(ImportError, match=r"a CUDA device.*Device\('torch', 'cpu'\)"):
        device_stack(systems(), Device())
    with pytest.raises(ImportError, match="requires cupy, which is not installed"):
        device_stack(systems(), Device("cupy"))
    missing.add("array_api_compat")
    with pytest.raises(ImportError, match=r"array-api-compat: .*\[device\]"):
        device_stack(systems(), DEVICE)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="namespace must be None, or one of"):
        Device("tensorflow")
    with pytest.raises(ValueError, match="factors=True requires precision='float64'"):
        Device(factors=True, precision="float32")


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises."""


@pytest.mark.parametrize("error", [OutOfMemoryError, MemoryError])
def test_a_full_device_is_a_sentence(monkeypatch, error):
    def fail(space, matrix):
        raise error

    monkeypatch.setattr(Space, "store", fail)
    with pytest.raises(
        StackTooLargeError, match=r"out of memory.* 3 matrices.*float32"
    ):
        device_stack(systems(), DEVICE)


def test_other_errors_of_a_device_are_not_hidden(monkeypatch):
    def fail(space, matrix):
        raise RuntimeError("lost")

    monkeypatch.setattr(Space, "store", fail)
    with pytest.raises(RuntimeError, match="lost"):
        device_stack(systems(), DEVICE)


def test_a_limit_is_checked_before_anything_is_computed():
    kernels = ListDictionary([LinearKernel()])
    with pytest.raises(StackTooLargeError, match="low_rank"):
        build_stack(kernels, np.ones((9, 1)), storage=DEVICE, max_bytes=8 * 81 - 1)
