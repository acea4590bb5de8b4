"""Gram matrices behind one protocol, however they are stored."""

from multikernel.gram.base import GramStack
from multikernel.gram.build import build_stack
from multikernel.gram.by_kernel import ByKernelStack
from multikernel.gram.checks import check_gram, repair_gram
from multikernel.gram.definite import check_definite
from multikernel.gram.dense import DenseMatrix, DenseStack
from multikernel.gram.factors.factorise import build_low_rank
from multikernel.gram.factors.landmarks import LowRank, kernel_features
from multikernel.gram.factors.low_rank import LowRankMatrix, LowRankStack
from multikernel.gram.files import MemoryMapped, Storage
from multikernel.gram.lazy.stack import LazyStack, lazy_stack
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.normalization import BuiltStack, Normalization, cross_gram
from multikernel.gram.part import PartStack, build_part
from multikernel.gram.products import ProductStack
from multikernel.gram.refine import Refinement
from multikernel.gram.spectra import TailNormalizer, TailSums, tail_sums
from multikernel.gram.views import ScaledStack

__all__ = [
    "BuiltStack",
    "ByKernelStack",
    "DenseMatrix",
    "DenseStack",
    "GramMatrix",
    "GramStack",
    "LazyStack",
    "LowRank",
    "LowRankMatrix",
    "LowRankStack",
    "MemoryMapped",
    "Normalization",
    "PartStack",
    "ProductStack",
    "Refinement",
    "ScaledStack",
    "Storage",
    "TailNormalizer",
    "TailSums",
    "build_low_rank",
    "build_part",
    "build_stack",
    "check_definite",
    "check_gram",
    "cross_gram",
    "kernel_features",
    "lazy_stack",
    "repair_gram",
    "tail_sums",
]
