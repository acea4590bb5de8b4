"""Algorithms; to add one, write a file and a line here.

Those for lp-norm learning stand in a table by name, with the choice by problem size.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from multikernel.solvers.base import PathSolver, Solver, alpha_grid, follow, solve_path
from multikernel.solvers.comparison import (
    UFOMKL,
    HessianMKL,
    IterativeShrinkage,
    SimpleMKL,
    ufo_exponent,
)
from multikernel.solvers.fixed_weights import FixedWeights
from multikernel.solvers.free_columns import FreeColumns
from multikernel.solvers.group_omp import GreedyPath, GroupOMP
from multikernel.solvers.local_rademacher import DCSolution, TailConv, TailDC
from multikernel.solvers.lp import (
    SILP,
    Alternating,
    CuttingPlane,
    InterleavedNewton,
    SquaredForm,
)
from multikernel.solvers.spicy import SpicyMKL
from multikernel.solvers.weight_rules import alignment_weights, easy_weights

LpSolverName = Literal[
    "newton",
    "squared_form",
    "cutting_plane",
    "alternating",
    "silp",
    "simple",
    "hessian",
]

LP_SOLVERS: dict[LpSolverName, Callable[..., Solver]] = {
    "newton": InterleavedNewton,
    "squared_form": partial(SquaredForm, SpicyMKL),
    "cutting_plane": CuttingPlane,
    "alternating": Alternating,
    "silp": SILP,
    "simple": SimpleMKL,
    "hessian": HessianMKL,
}
"""Every solver for `SquaredBlockNorm`, made from keywords ``tol`` and ``max_iter``."""

SPARSE_ONLY: tuple[LpSolverName, ...] = ("squared_form", "silp", "simple", "hessian")
"""These solvers are for p = 1 only."""

IMAGE_BYTES = 2**31
"""Memory that the Newton solver may take for the images K_m rho of its two points."""

PER_SAMPLE = 6
"""Kernels per sample from which `SquaredForm` is the faster one for p = 1.

On 150 samples, a tolerance of 1e-3 and C of 0.5, 1, 8, 128 and 1000 both took the same
time for 945 kernels of the ionosphere set (3.9 s and 3.8 s in all), and for 378 of
breast cancer it took 3.3 s against 2.6 s of `InterleavedNewton`. On 1000 digits and 50
kernels it is ten times slower: its Newton steps cost the cube of the samples."""


def choose_lp_solver(
    p: float, n_samples: int, n_kernels: int, n_outputs: int = 1
) -> LpSolverName:
    """Return the name of the solver that ``solver="auto"`` means.

    The interleaved Newton solver needs the fewest passes for every p above 1 and every
    loss: some 3 to 5 steps to a relative gap of 1e-4, and 8 or so for p near 1, where
    others take from 6 (p = 4) to several dozen. It is not chosen in three cases. For
    p = 1 and many more kernels than samples, `SquaredForm` looks at all kernels a third
    as often. Several outputs share their kernel weights by `SquaredForm` for p = 1 and
    by `Alternating` for others, as the Newton solver is for one output. And that
    solver keeps one vector per kernel; where these would take more than two gigabytes
    (a million kernels on 200 samples), solvers that keep a few numbers per kernel take
    its place: `SquaredForm` for p = 1, cutting planes up to p = 1.1, where closed-form
    weights are slow, and `Alternating` above.

    Parameters
    ----------
    p : float
        Exponent of the norm of the kernel weights, in [1, inf].
    n_samples, n_kernels : int
        Size of the problem.
    n_outputs : int, default=1
        Columns of the targets.

    Returns
    -------
    name : str
        A key of `LP_SOLVERS`.

    Examples
    --------
    >>> choose_lp_solver(p=1.0, n_samples=2000, n_kernels=50)
    'newton'
    >>> choose_lp_solver(p=1.0, n_samples=200, n_kernels=2000)
    'squared_form'
    >>> choose_lp_solver(p=2.0, n_samples=200, n_kernels=1_000_000)
    'alternating'
    """
    if n_outputs > 1:
        return "squared_form" if p == 1.0 else "alternating"
    many = 2 * 8 * n_samples * n_kernels > IMAGE_BYTES
    if p == 1.0 and (many or n_kernels > PER_SAMPLE * n_samples):
        return "squared_form"
    if not many:
        return "newton"
    return "cutting_plane" if p <= 1.1 else "alternating"


__all__ = [
    "LP_SOLVERS",
    "SILP",
    "SPARSE_ONLY",
    "UFOMKL",
    "Alternating",
    "CuttingPlane",
    "DCSolution",
    "FixedWeights",
    "FreeColumns",
    "GreedyPath",
    "GroupOMP",
    "HessianMKL",
    "InterleavedNewton",
    "IterativeShrinkage",
    "PathSolver",
    "SimpleMKL",
    "Solver",
    "SpicyMKL",
    "SquaredForm",
    "TailConv",
    "TailDC",
    "alignment_weights",
    "alpha_grid",
    "choose_lp_solver",
    "easy_weights",
    "follow",
    "solve_path",
    "ufo_exponent",
]
