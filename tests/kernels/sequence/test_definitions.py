"""Every sequence kernel against its definition, by hand, and as a kernel."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from reference import literal_sequences as literal

from multikernel.gram import kernel_features
from multikernel.kernels import Kernel, kernel_name
from multikernel.kernels.sequence import (
    Alphabet,
    MotifKernel,
    ProfileKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    WindowKernel,
    motif_dictionary,
    motif_patterns,
    per_window,
)
from multikernel.kernels.sequence.profile import PROPERTIES

SKIP = Alphabet("dna", unknown="skip")
# Few letters, so that words meet; N is in no alphabet. Over 64 letters take two words
# of a machine.
SHORT = st.lists(st.text("ACGTN", max_size=12), min_size=1, max_size=5)
LONG = st.lists(st.text("AC", min_size=60, max_size=80), min_size=2, max_size=2)


def expected(function, X, Y, cosine):
    if cosine:
        return [[literal.cosine(function, x, y) for y in Y] for x in X]
    return [[function(x, y) for y in Y] for x in X]


def assert_is(kernel, function, X):
    K = kernel(X)
    wanted = expected(function, X, X, kernel.cosine)
    np.testing.assert_allclose(K, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, X[:1]), K[:, :1], rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * max(np.trace(K), 1.0)


@settings(max_examples=20)
@given(SHORT, st.integers(1, 4), st.booleans())
def test_spectrum(X, k, cosine):
    kernel = SpectrumKernel(k, SKIP, cosine)
    assert_is(kernel, lambda x, y: literal.spectrum(x, y, k, "ACGT"), X)


@settings(max_examples=20)
@given(
    SHORT,
    st.integers(1, 6),
    st.integers(0, 5),
    st.booleans(),
    st.sampled_from(["start", "end"]),
)
def test_weighted_degree(X, degree, shift, cosine, align):
    kernel = WeightedDegreeKernel(degree, shift, SKIP, cosine, align)

    def function(x, y):
        if align == "end":
            x, y = x[::-1], y[::-1]
        return literal.weighted_degree(x, y, degree, shift, "ACGT")

    assert_is(kernel, function, X)


@settings(max_examples=15)
@given(LONG, st.sampled_from([0, 1, 30, 63, 64, 70, 130]))
def test_weighted_degree_over_machine_words(X, shift):
    kernel = WeightedDegreeKernel(4, shift, cosine=False, align="start")

    def function(x, y):
        return literal.weighted_degree(x, y, 4, shift, "ACGT")

    wanted = [[function(X[0], X[1]), function(X[0], X[0])]]
    np.testing.assert_allclose(kernel(X[:1], [X[1], X[0]]), wanted, rtol=1e-9)


@settings(max_examples=20)
@given(
    SHORT,
    st.sampled_from(motif_patterns(4)),
    st.sampled_from(["linear", "intersection", "jensen_shannon"]),
    st.booleans(),
)
def test_motif(X, pattern, compare_by, cosine):
    kernel = MotifKernel(pattern, compare_by, 0.4, SKIP, cosine)

    def function(x, y):
        return literal.motif(x, y, pattern, compare_by, 0.4, "ACGT")

    # The divergence of an empty histogram, of no mass, is no entropy's: left out.
    X = [x for x in X if literal.histogram(x, pattern, "ACGT")] or ["ACGTACGT"]
    assert_is(kernel, function, X)


@settings(max_examples=20)
@given(SHORT, st.sampled_from(sorted(PROPERTIES)), st.integers(1, 6), st.booleans())
def test_profile(X, name, smooth, cosine):
    kernel = ProfileKernel(name, smooth, SKIP, cosine)
    table = {
        a + b: PROPERTIES[name][4 * i + j]
        for i, a in enumerate("ACGT")
        for j, b in enumerate("ACGT")
    }

    def function(x, y):
        return literal.profile_kernel(x, y, table, smooth)

    # What is zero by rounding alone has no direction.
    X = [x for x in X if not 0 < function(x, x) < 1e-9] or ["ACG"]
    assert_is(kernel, function, X)


@settings(max_examples=20)
@given(SHORT, st.none() | st.integers(-8, 8), st.none() | st.integers(-8, 8))
def test_windows_are_slices(X, start, stop):
    kernel = SpectrumKernel(2, SKIP)
    parts = WindowKernel(kernel, start, stop)
    cut = [x[start:stop] for x in X]
    np.testing.assert_array_equal(parts(X), kernel(cut))
    np.testing.assert_array_equal(parts.diag(X), kernel.diag(cut))


def test_complementary_dinucleotides_have_one_value():
    pair = {"A": "T", "C": "G", "G": "C", "T": "A"}
    for values in PROPERTIES.values():
        for i, a in enumerate("ACGT"):
            for j, b in enumerate("ACGT"):
                other = "ACGT".index(pair[b]), "ACGT".index(pair[a])
                assert values[4 * i + j] == values[4 * other[0] + other[1]]


def test_values_by_hand():
    X = ["ACGTA", "ACCTA"]
    # AC, CG, GT, TA against AC, CC, CT, TA: two in common.
    assert SpectrumKernel(2, cosine=False)(X)[0, 1] == 2.0
    # One letter: A, C, T, A agree, weight 2/3; two: AC, TA, weight 1/3.
    K = WeightedDegreeKernel(2, cosine=False)(X)
    np.testing.assert_allclose(K[0, 1], 4 * 2 / 3 + 2 / 3)
    # Shift 1: C at place 1 of the first is C at place 2 of the second, weight 1/4.
    K = WeightedDegreeKernel(1, 1, cosine=False)(X)
    np.testing.assert_allclose(K[0, 1], 4 + 1 / 4)
    # Shares: A 2/5, C 1/5, G 1/5, T 1/5 and A 2/5, C 2/5, T 1/5.
    K = MotifKernel("x", "linear", alphabet="dna", cosine=False)(X)
    np.testing.assert_allclose(K[0, 1], (4 + 2 + 1) / 25)
    K = MotifKernel("x", "intersection", alphabet="dna", cosine=False)(X)
    np.testing.assert_allclose(K[0, 1], 4 / 5)
    # Nothing in common: the divergence is log 2.
    K = MotifKernel("x", sigma=1.0, alphabet="dna")(["AA", "CC"])
    np.testing.assert_allclose(K[0, 1], np.exp(-np.log(2) / 2))


def random_texts(n, length, letters="ACGT", seed=0):
    drawn = np.random.default_rng(seed).choice(list(letters), size=(n, length))
    return ["".join(row) for row in drawn]


@pytest.mark.parametrize("degree", [1, 7, 20])
def test_no_shift_is_weighted_degree(degree):
    X = random_texts(12, 100)
    plain = WeightedDegreeKernel(degree)(X)
    wanted = [
        [
            literal.cosine(
                lambda a, b: literal.weighted_degree(a, b, degree, 0, "ACGT"), x, y
            )
            for y in X[:2]
        ]
        for x in X
    ]
    np.testing.assert_allclose(plain[:, :2], wanted)
    np.testing.assert_array_equal(WeightedDegreeKernel(degree, 0)(X), plain)


def test_shift_weights_are_positive_definite():
    for shift in (1, 5, 32, 200):
        weights = WeightedDegreeKernel(3, shift).shift_weights
        column = np.zeros(400)
        column[: shift + 1] = weights
        toeplitz = column[np.abs(np.subtract.outer(np.arange(400), np.arange(400)))]
        assert np.linalg.eigvalsh(toeplitz)[0] > 0.4


KERNELS = (
    SpectrumKernel(3),
    SpectrumKernel(12),
    WeightedDegreeKernel(8, 3),
    MotifKernel("x.x", "linear", alphabet="dna"),
    MotifKernel("xx", "intersection", alphabet="dna"),
    MotifKernel("x..x", alphabet="dna"),
    ProfileKernel("twist", 3),
    ProfileKernel("stacking", cosine=False),
    WindowKernel(SpectrumKernel(2, cosine=False), 5, -5),
    WindowKernel(WeightedDegreeKernel(4), 5, 30),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=kernel_name)
def test_protocol(kernel):
    # Over a block of rows, so that mirrored halves are of several blocks.
    X = random_texts(150, 40)
    assert isinstance(kernel, Kernel)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, kernel(X, list(X)), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.trace(K)
    if kernel.__class__ is not WindowKernel and kernel.cosine:
        np.testing.assert_allclose(K.diagonal(), 1.0)


@pytest.mark.parametrize("kernel", KERNELS, ids=kernel_name)
def test_forms_of_sequences(kernel):
    X = random_texts(6, 40)
    K = kernel(X)
    codes = np.array([list(x.encode()) for x in X], dtype=np.uint8)
    forms = (
        np.array(X),
        np.array(X, dtype=object)[:, None],
        [x.encode() for x in X],
        codes,
    )
    for form in forms:
        np.testing.assert_array_equal(kernel(form), K)


@pytest.mark.parametrize(
    "kernel",
    [
        SpectrumKernel(3),
        SpectrumKernel(2, cosine=False),
        ProfileKernel("twist", 3),
        WindowKernel(SpectrumKernel(3), 0, 20),
        WindowKernel(ProfileKernel("stacking", cosine=False), -20),
    ],
    ids=kernel_name,
)
def test_factors_equal_matrices(kernel):
    column = np.array(random_texts(20, 40))[:, None]
    Z = kernel_features(kernel, column)
    np.testing.assert_allclose(Z @ Z.T, kernel(column), rtol=1e-12, atol=1e-14)


def test_features_of_a_spectrum_are_named_by_the_alphabet():
    Z = SpectrumKernel(2, cosine=False).features(["CAGT", "AAAA"])
    assert Z.shape == (2, 16)
    assert {int(c) for c in Z[[0]].nonzero()[1]} == {4, 2, 11}
    assert Z[[1]].toarray()[0, 0] == 3.0


def test_long_words_have_no_factors():
    column = np.array(random_texts(3, 40))[:, None]
    assert kernel_features(SpectrumKernel(7), column) is None
    assert kernel_features(WeightedDegreeKernel(3), column) is None


def test_any_alphabet():
    kernel = SpectrumKernel(2, Alphabet("0123456789ab\xe9"))
    K = kernel(["01ab\xe9", "ab\xe90"])
    np.testing.assert_allclose(K[0, 1], 2 / np.sqrt(4 * 3))
    K = WeightedDegreeKernel(3, 1, Alphabet("xyzuvw"))(["xyzuvw", "wvuzyx"])
    assert K[0, 0] == pytest.approx(1.0)


def test_an_empty_histogram_is_like_no_other():
    kernel = MotifKernel("xxx", sigma=1.0)
    K = kernel(["AC", "A", "ACDEF"])
    np.testing.assert_allclose(K[0, 1], 1.0)
    np.testing.assert_allclose(K[0, 2], np.exp(-np.log(2) / 4))
    assert np.linalg.eigvalsh(K)[0] >= -1e-12


def test_motif_dictionary_is_that_of_ong_and_zien():
    dictionary = motif_dictionary()
    assert len(dictionary) == 64
    assert len(set(motif_patterns())) == 16
    assert all(len(p) <= 5 and p[0] == "x" for p in motif_patterns())
    sections = {(k.start, k.stop) for k in dictionary.kernels}
    assert sections == {(None, None), (0, 15), (0, 60), (-15, None)}


def test_windows_of_several_kernels():
    parts = {"promoter": (0, 60), "exon": (60, None)}
    dictionary = per_window(parts, [SpectrumKernel(2), SpectrumKernel(3)])
    names = [dictionary.name(i) for i in range(4)]
    assert names[1:3] == ["spectrum(k=3)[promoter]", "spectrum(k=2)[exon]"]
