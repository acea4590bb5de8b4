"""Factors of kernels in blocks of rows, wherever these are: in memory, on workers."""

from multikernel.gram.blocked.blocks import Engine, InProcess, RowBlocks, SampledRows
from multikernel.gram.blocked.build import build_blocked, refine_blocked
from multikernel.gram.blocked.stack import BlockedStack, BlockedTerms

__all__ = [
    "BlockedStack",
    "BlockedTerms",
    "Engine",
    "InProcess",
    "RowBlocks",
    "SampledRows",
    "build_blocked",
    "refine_blocked",
]
