"""Penalties on the block norms; to add one, write a file and a line here."""

from collections.abc import Callable

from multikernel.regularizers.base import (
    BlockRegularizer,
    ProximableRegularizer,
    VariationalRegularizer,
)
from multikernel.regularizers.block_l1 import BlockL1
from multikernel.regularizers.elastic_net import BlockElasticNet
from multikernel.regularizers.sparse_block_norm import SparseBlockNorm
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm

REGULARIZERS: tuple[Callable[[float], BlockRegularizer], ...] = (
    BlockL1,
    BlockElasticNet,
    SparseBlockNorm,
    SquaredBlockNorm,
)
"""Every regulariser, as a function of its strength alpha; read by the tests."""

__all__ = [
    "REGULARIZERS",
    "BlockElasticNet",
    "BlockL1",
    "BlockRegularizer",
    "ProximableRegularizer",
    "SparseBlockNorm",
    "SquaredBlockNorm",
    "VariationalRegularizer",
]
