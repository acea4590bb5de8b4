"""Linear kernels on properties of dinucleotides along a sequence."""

import builtins
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel._validation import COUNT, OneOf, check_parameter
from multikernel.kernels.sequence.base import (
    SequenceKernel,
    check_kernel_options,
    unit_scales,
)
from multikernel.kernels.sequence.letters import (
    ALPHABETS,
    UNKNOWN,
    Alphabet,
    Sequences,
    find_alphabet,
    read_sequences,
)

# In the order AA, AC, AG, AT, CA, ...; reverse complements have equal values.
PROPERTIES = {
    # Degrees between neighboring base pairs (Kabsch, Sander and Trifonov, 1982).
    "twist": (
        *(35.6, 34.4, 27.7, 31.5),
        *(34.5, 33.7, 29.8, 27.7),
        *(36.9, 40.0, 33.7, 34.4),
        *(36.0, 36.9, 34.5, 35.6),
    ),
    # Kilocalories per mole of base pairs (Ornstein, Rein, Breen and Macelroy, 1978).
    "stacking": (
        *(-5.37, -10.51, -6.78, -6.57),
        *(-6.57, -8.26, -9.69, -6.78),
        *(-9.81, -14.59, -8.26, -10.51),
        *(-3.82, -9.81, -6.57, -5.37),
    ),
}


@dataclass(frozen=True)
class ProfileKernel(SequenceKernel[Array]):
    """The linear kernel on a property of neighboring letters along DNA.

    `property` is the "twist" angle between base pairs in degrees, or their "stacking"
    energy in kcal/mol, minus its mean over the sixteen dinucleotides. A sequence of L
    letters becomes L - 1 values, each averaged over `smooth` neighbors. Sequences are
    aligned at their first letters; pairs with an unknown letter get zero.
    """

    # Without subtracting the mean, all profiles would be similar, because the values
    # have one sign. The values are those of ``btwisted`` of EMBOSS: Kabsch, Sander and
    # Trifonov (1982), Nucleic Acids Research 10, 1097-1104,
    # https://doi.org/10.1093/nar/10.3.1097; Ornstein, Rein, Breen and Macelroy (1978),
    # Biopolymers 17, 2341-2360, https://doi.org/10.1002/bip.1978.360171005

    property: str
    smooth: int = 1
    alphabet: str | Alphabet = "dna"
    cosine: bool = True

    def __post_init__(self) -> None:
        names = OneOf(tuple(PROPERTIES))
        check_parameter("ProfileKernel", "property", self.property, names)
        check_parameter("ProfileKernel", "smooth", self.smooth, COUNT)
        check_kernel_options(self)
        letters = find_alphabet(self.alphabet).letters
        if letters not in (ALPHABETS["dna"], ALPHABETS["rna"]):
            raise ValueError(
                "ProfileKernel: alphabet must have the letters ACGT or ACGU, in this "
                f"order, got {letters!r}."
            )

    @builtins.property
    def name(self) -> str:
        """Return the readable name."""
        smooth = f", smooth={self.smooth}" * (self.smooth > 1)
        return f"profile({self.property}{smooth})"

    def features(self, X: object) -> Array:
        """Return profiles, (n_samples, n_pairs), whose inner products are the kernel.

        Shorter sequences are padded with zeros. Rows have norm one if `cosine` is True.
        """
        profiles = self.represent(read_sequences(X))
        if self.cosine:
            profiles *= unit_scales(self.squared_norms(profiles))[:, None]
        return profiles

    def factor(self, X: object) -> Array:
        """Return the features Z, with k(X, X) = Z Z^T."""
        return self.features(X)

    def represent(self, sequences: Sequences) -> Array:
        """Return the profile of each sequence, before scaling."""
        lengths = sequences.lengths
        longest = max(2, int(lengths.max(initial=0)))
        padded = self.encode(sequences).padded(longest, UNKNOWN)
        table = np.array(PROPERTIES[self.property])
        # The last value is for pairs with an unknown letter, and for padding.
        table = np.append(table - table.mean(), 0.0)
        left, right = padded[:, :-1], padded[:, 1:]
        pairs = np.where((left < 4) & (right < 4), 4 * left + right, 16)
        profiles: Array = table[pairs]
        if self.smooth == 1:
            return profiles
        is_inside = np.arange(profiles.shape[1]) < lengths[:, None] - 1
        counts = _window_sums(is_inside.astype(np.float64), self.smooth)
        averages = _window_sums(profiles, self.smooth) / np.maximum(counts, 1.0)
        return averages * is_inside

    def compare(self, rows: Array, cols: Array) -> Array:
        """Return the inner products of profiles."""
        common = min(rows.shape[1], cols.shape[1])
        return np.asarray(rows[:, :common] @ cols[:, :common].T)

    def squared_norms(self, represented: Array) -> Array:
        """Return the squared norms of profiles."""
        return np.asarray(np.einsum("ij,ij->i", represented, represented))


def _window_sums(values: Array, width: int) -> Array:
    """Return sums over a window around each value, truncated at the ends."""
    before, after = (width - 1) // 2, width // 2
    total = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    positions = np.arange(values.shape[1])
    stops = np.minimum(positions + after + 1, values.shape[1])
    return total[:, stops] - total[:, np.maximum(positions - before, 0)]
