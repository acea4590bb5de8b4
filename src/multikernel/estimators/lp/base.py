"""What the estimators of lp-norm learning share."""

from abc import abstractmethod
from collections.abc import Sequence

from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.solve import Recipe
from multikernel.estimators.lp.solvers import check_solver
from multikernel.losses import Loss
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import Solver


class LpMKL(BaseMKL):
    """A model with a choice of solvers, not all of which fit every p."""

    solver: str

    @abstractmethod
    def _exponents(self) -> Sequence[float]:
        """Return all p that are solved for."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(type(self).__name__, self.solver, self._exponents())


def margin_recipe(loss: Loss, C: float, p: float, solver: Solver) -> Recipe:
    """Return a recipe for the sum of losses times C plus half a squared norm.

    Parameters
    ----------
    loss : Loss
        The loss of one sample.
    C : float
        What multiplies the sum of the losses. The solvers take the objective over C,
        so that dual points of one C are feasible for all.
    p : float
        Norm of the kernel weights.
    solver : Solver
        The algorithm.

    Returns
    -------
    recipe : Recipe
    """
    C, p = float(C), float(p)
    return Recipe(loss, SquaredBlockNorm(1.0 / C, p), solver, C, dual_scale=C)
