"""Kernels on strings: DNA, RNA, proteins, or letters of any other alphabet."""

from multikernel.kernels.sequence.base import SequenceKernel, WindowKernel
from multikernel.kernels.sequence.builders import (
    dna_dictionary,
    motif_dictionary,
    per_window,
    sequence_dictionary,
)
from multikernel.kernels.sequence.function import StringKernel
from multikernel.kernels.sequence.letters import Alphabet
from multikernel.kernels.sequence.motif import MotifKernel, motif_patterns
from multikernel.kernels.sequence.profile import ProfileKernel
from multikernel.kernels.sequence.spectrum import SpectrumKernel
from multikernel.kernels.sequence.weighted_degree import WeightedDegreeKernel

__all__ = [
    "Alphabet",
    "MotifKernel",
    "ProfileKernel",
    "SequenceKernel",
    "SpectrumKernel",
    "StringKernel",
    "WeightedDegreeKernel",
    "WindowKernel",
    "dna_dictionary",
    "motif_dictionary",
    "motif_patterns",
    "per_window",
    "sequence_dictionary",
]
