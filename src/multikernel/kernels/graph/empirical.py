"""The grid of kernel principal components of each input."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import Number, check_parameter
from multikernel.kernels.base import check_kernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.levels import FactorLevels, Levels, known_by_landmarks


@dataclass(frozen=True)
class EmpiricalGrid(DirectedGrid):
    """Kernel principal components of each input, and what they leave.

    In place of functions that are principal for Gaussian inputs, as those of
    `HermiteGrid`, the levels are those of the samples themselves: eigenvectors of the
    kernel matrix of each input, the largest first, and the rest.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        Of one input; None stands for ``exp(-0.05 (x - x')^2)``.
    n_components : int, default=9
        Levels of an input, the rest included.
    weight_base : float, default=0.5
        Factor of the weight of a node per level.
    root_weight : float, default=0.1
        Weight of the root.
    """

    kernel: Any = None
    n_components: int = 9
    weight_base: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = Number(2, 50, integer=True)
        check_parameter("EmpiricalGrid", "n_components", self.n_components, whole)
        if self.kernel is not None:
            check_kernel(self.kernel, "EmpiricalGrid: kernel")

    def _levels(self, x: Array) -> Levels:
        kernel = GaussianKernel(np.sqrt(10.0)) if self.kernel is None else self.kernel
        factor, landmarks, mixing = known_by_landmarks(kernel, x[:, None])
        sizes, directions = np.linalg.eigh(factor.T @ factor)
        order = np.argsort(-sizes, kind="stable")
        directions = directions[:, order]
        features = factor @ directions
        # A sign of its own choice would make two fits differ.
        rows = np.abs(features).argmax(axis=0)
        directions = directions * np.sign(features[rows, np.arange(rows.size)])
        single = min(self.n_components - 1, max(1, order.size))
        rest = order.size - single
        blocks = (1,) * single + ((rest,) if rest > 0 else ())
        return FactorLevels(kernel, landmarks, mixing @ directions, blocks, False)
