"""Generators of the papers' settings, and loaders of real data sets."""

from multikernel.datasets.files import Fasta, read_batches, read_fasta
from multikernel.datasets.generators import (
    make_additive_regression,
    make_ringnorm,
    make_sparse_means,
)
from multikernel.datasets.loaders import available, load

__all__ = [
    "Fasta",
    "available",
    "load",
    "make_additive_regression",
    "make_ringnorm",
    "make_sparse_means",
    "read_batches",
    "read_fasta",
]
