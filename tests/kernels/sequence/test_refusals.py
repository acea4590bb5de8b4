"""What sequence kernels refuse, in a sentence."""

import numpy as np
import pytest

from multikernel.kernels import LinearKernel
from multikernel.kernels.sequence import (
    Alphabet,
    MotifKernel,
    ProfileKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    WindowKernel,
    per_window,
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Alphabet(""), "must be a string of letters"),
        (lambda: Alphabet("ACA"), "'A' occurs twice"),
        (lambda: Alphabet("DNA"), "the name 'DNA' must be in lower case: pass 'dna'"),
        (lambda: Alphabet("AC\u0416"), "of one byte"),
        (lambda: Alphabet("dna", unknown="drop"), "one of 'error', 'skip'"),
        (lambda: Alphabet("dna", lower=True), "one of 'error', 'upper'"),
        (lambda: SpectrumKernel(0), r"in \[1, 12\], got 0"),
        (lambda: SpectrumKernel(13), r"in \[1, 12\], got 13"),
        (lambda: SpectrumKernel(3, cosine="yes"), "cosine must be True or False"),
        (
            lambda: SpectrumKernel(12, Alphabet("".join(map(chr, range(33, 90))))),
            "57.12 words",
        ),
        (lambda: WeightedDegreeKernel(0), "degree must be an integer of at least 1"),
        (lambda: WeightedDegreeKernel(3, -1), "shift must be an integer of at least 0"),
        (lambda: WeightedDegreeKernel(3, align="middle"), "align must be one of"),
        (lambda: MotifKernel(".x"), "with 'x' at both ends, got '.x'"),
        (lambda: MotifKernel(""), "with 'x' at both ends"),
        (lambda: MotifKernel("xAx"), "got 'xAx'"),
        (lambda: MotifKernel("x", "cosine"), "compare_by must be one of"),
        (lambda: MotifKernel("x", sigma=0.0), "sigma must be a finite number above 0"),
        (lambda: ProfileKernel("roll"), "property must be one of 'twist', 'stacking'"),
        (lambda: ProfileKernel("twist", 0), "smooth must be"),
        (
            lambda: ProfileKernel("twist", 1, "protein"),
            "the letters ACGT or ACGU, in this order",
        ),
        (lambda: WindowKernel(LinearKernel()), "kernel must be a sequence kernel"),
        (lambda: WindowKernel(SpectrumKernel(1), 0.5), "start must be an integer"),
        (lambda: per_window([(0, 3)], SpectrumKernel(1)), "a mapping from names"),
    ],
)
def test_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("ACGT", "X is a single string"),
        (np.array([["A", "C"]]), "select a column with ColumnKernel"),
        (np.array([[0.5, 1e20]]), "received numbers"),
        (np.array([[-1.0]]), "received numbers"),
        ([1, 2], "Sequence 0 is 1, not a string"),
        (["A\x00C"], r"'\\x00'"),
        (["AC", "AXC"], "'X' at position 1, the first of 1 letters that are not"),
        (["acgt"], "lower='upper'., which reads lower case"),
    ],
)
def test_sequences(X, message):
    with pytest.raises(ValueError, match=message):
        SpectrumKernel(1)(X)


def test_lengths_of_rows_and_columns():
    kernel = WeightedDegreeKernel(2)
    with pytest.raises(ValueError, match="some have 3 letters and others 4"):
        kernel(["ACG"], ["ACGT"])
    with pytest.raises(
        ValueError, match="sequence 1 has 2 letters and the longest has 3"
    ):
        kernel(["ACG", "AC"])
    assert kernel([], ["ACGT"]).shape == (0, 1)
    assert WeightedDegreeKernel(2, align="start")(["ACG"], ["ACGT"]).shape == (1, 1)


def test_letters_of_protein_files():
    kernel = MotifKernel("x", "linear", alphabet=Alphabet("protein", unknown="skip"))
    np.testing.assert_allclose(kernel(["MKXB", "MK"]), 1.0)
