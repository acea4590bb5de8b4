from .base import GramStack as GramStack
from .build import build_stack as build_stack
from .by_kernel import ByKernelStack as ByKernelStack
from .checks import check_gram as check_gram
from .costs import Storage as Storage
from .dense import DenseStack as DenseStack, PartStack as PartStack
from .device.space import Device as Device
from .device.stack import (
    DeviceProducts as DeviceProducts,
    DeviceStack as DeviceStack,
    device_stack as device_stack,
)
from .factors.landmarks import LowRank as LowRank, kernel_features as kernel_features
from .factors.low_rank import (
    LowRankMatrix as LowRankMatrix,
    LowRankStack as LowRankStack,
)
from .lazy import LazyStack as LazyStack, lazy_stack as lazy_stack
from .matrix import DenseMatrix as DenseMatrix, GramMatrix as GramMatrix
from .normalization import (
    BuiltStack as BuiltStack,
    Normalization as Normalization,
    cross_gram as cross_gram,
)
from .part import build_part as build_part
from .products import ProductStack as ProductStack
from .refine import Refinement as Refinement
from .spectra import (
    TailNormalizer as TailNormalizer,
    TailSums as TailSums,
    tail_sums as tail_sums,
)
from .views import ScaledStack as ScaledStack
