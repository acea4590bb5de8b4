"""The grid of all subsets of inputs."""

from dataclasses import dataclass
from typing import Any

from multikernel._typing import Array
from multikernel.kernels.base import check_kernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.levels import FactorLevels, Levels, known_by_landmarks


@dataclass(frozen=True)
class AnovaGrid(DirectedGrid):
    r"""All subsets of inputs: the kernel :math:`\prod_i (1 + k(x_i, x'_i))`.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        Of one input; None stands for a Gaussian of width one.
    weight_base : float, default=4.0
        Factor of the weight of a node per input.
    root_weight : float, default=0.1
        Weight of the constant.
    """

    kernel: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel is not None:
            check_kernel(self.kernel, "AnovaGrid: kernel")

    def _levels(self, x: Array) -> Levels:
        kernel = GaussianKernel(1.0) if self.kernel is None else self.kernel
        _, landmarks, mixing = known_by_landmarks(kernel, x[:, None])
        return FactorLevels(kernel, landmarks, mixing, (mixing.shape[1],), True)

    def _style(self) -> str:
        return "{name}"
