"""Penalties on the block norms. To add one, write a file and add a line here."""

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
"""All penalties, as functions of the strength alpha; the tests use them."""

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
