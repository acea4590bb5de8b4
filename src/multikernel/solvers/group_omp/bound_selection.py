"""Selection among kernels of full rank: exact winners, by certified bounds.

Every kernel gets a few Lanczos steps (`gram.quadrature`), most of them one, and only
those that can still win are refined: kernel by kernel, so that the steps after the
first find their matrix in the cache.
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.certificates.forms import check_forms, not_finite
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.linalg.quadrature import QuadratureBounds, start_bounds
from multikernel.linalg.threads import run_blocks
from multikernel.solvers.group_omp.improvement import TIE, Choice, Query, choose
from multikernel.solvers.group_omp.whitening import Whitening

EPS = float(np.finfo(np.float64).eps)

COARSE, MEDIUM = 1e-2, 1e-5
"""Relative width to which bounds are refined before the contenders are compared."""

LANCZOS_ROUNDS = 2
"""Steps over the number of samples, after which bounds are as good as they get.

In exact arithmetic they meet after as many steps as there are samples; what is left
between them where rounding delays that is settled by their middle.
"""

CHUNK_NUMBERS = 2**21
"""Entries of the Gram matrices that a thread treats at once, to stay in its cache."""


class BoundSelector:
    """Certified bounds, refined for the kernels that can still win.

    Parameters
    ----------
    stack : GramStack
        Square matrices.
    whitening : Whitening
        The geometry.
    """

    def __init__(self, stack: GramStack, whitening: Whitening) -> None:
        self.stack, self.whitening = stack, whitening
        self.traces = _traces(stack, whitening)
        self.order = np.arange(stack.shape[0])
        self.prepared = 0.0 if whitening.direction is None else 1.0

    def best(self, query: Query) -> Choice:
        """Return the best candidate of every group."""
        self._check_shift(query)
        race = _Race(self.stack, self.whitening, self.traces, query)
        for level in (COARSE, MEDIUM, 0.0):
            race.run(self.order[race.contenders()[self.order]], level)
        # Bounds order the next race: strong kernels first, so that others fall early.
        least = np.maximum(race.leader, np.finfo(float).tiny)[:, None]
        with np.errstate(over="ignore"):  # beside a leader of nothing all are infinite
            strength = race.upper / least
        self.order = np.argsort(-strength.max(axis=0), kind="stable")
        middle = 0.5 * (race.lower + race.upper)
        passes = race.products / self.stack.shape[0]
        return choose(query, middle, 2.0 * race.resolution, passes)

    def _check_shift(self, query: Query) -> None:
        """Refuse a ridge that rounding of the Gram matrices would drown."""
        traces = self.traces.whitened
        widest = int(np.argmax(traces))
        least = float(query.shifts.min())
        if least < 1e-12 * traces[widest]:
            raise UnsupportedProblemError(
                f"alpha = {least:.3g} (on the summed loss) is below the rounding error "
                f"of Gram matrix {widest}, whose trace is {traces[widest]:.3g}: "
                "kernels cannot be told apart. Raise alpha, scale the kernels down, or "
                "store kernels of low rank by their factors."
            )


@dataclass(frozen=True, eq=False)
class _Traces:
    """Sums of the absolute diagonals of all kernels, and traces of P S K S P."""

    raw: Array
    whitened: Array


def _traces(stack: GramStack, whitening: Whitening) -> _Traces:
    """Return the traces, the whitened ones a little above for rounding."""
    diagonals = stack.diagonals()
    squares = 1.0 if whitening.scale is None else whitening.scale**2
    whitened = np.sum(diagonals * squares, axis=1)
    raw = np.sum(np.abs(diagonals) * squares, axis=1)
    if whitening.direction is not None:
        mean = whitening.scaled(whitening.direction)
        forms = stack.quadratic_forms(mean)
        check_forms(stack, forms, mean)
        whitened = whitened - forms
    return _Traces(raw, np.maximum(whitened, 0.0) + 1e-12 * raw)


@dataclass
class _Race:
    """Bounds of one query, and the best lower bound so far."""

    stack: GramStack
    whitening: Whitening
    traces: _Traces
    query: Query
    products: int = 0
    lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.lower = np.zeros(self.query.candidates.shape)
        self.upper = np.where(self.query.candidates, np.inf, -np.inf)
        self.leader = np.zeros(self.query.shifts.size)
        # Pivots have errors of eps times the trace, against the ridge.
        relative = self.traces.whitened / self.query.shifts[:, None]
        self.resolution = TIE + 8.0 * EPS * relative

    def contenders(self) -> NDArray[np.bool_]:
        """Return which kernels can still win in some group."""
        open_kernels = self._can_win(np.arange(self.stack.shape[0]))
        return np.asarray(np.any(open_kernels, axis=0))

    def _can_win(self, kernels: Indices) -> NDArray[np.bool_]:
        upper = self.upper[:, kernels] * (1.0 + self.resolution[:, kernels])
        beaten = upper < self.leader[:, None]
        return np.asarray(self.query.candidates[:, kernels] & ~beaten)

    def run(self, kernels: Indices, level: float) -> None:
        """Refine kernels until they are beaten or known to a relative width."""
        n_samples = self.stack.shape[1]
        size = int(np.clip(CHUNK_NUMBERS // n_samples**2, 1, 64))
        chunks = [kernels[i : i + size] for i in range(0, kernels.size, size)]
        run_blocks(lambda chunk: self._refine(chunk, level), chunks)

    def _refine(self, kernels: Indices, level: float) -> None:
        multiply = self.stack.resident_products(kernels)
        bounds = start_bounds(
            self.query.rows, self.query.row_shifts(), self.traces.whitened[kernels]
        )
        alive = np.arange(kernels.size)
        for _ in range(LANCZOS_ROUNDS * (self.stack.shape[1] + 1)):
            images = multiply(alive, self.whitening.scaled(bounds.basis))
            images = self.whitening.project(self.whitening.scaled(images))
            bounds.advance(images)
            chosen = kernels[alive]
            self._update(chosen, bounds)
            lower, upper = self.lower[:, chosen], self.upper[:, chosen]
            width = np.maximum(level, self.resolution[:, chosen])
            undecided = self._can_win(chosen) & (upper - lower > width * upper)
            keep = np.any(undecided, axis=0)
            if not keep.any():
                return
            if not keep.all():
                alive, bounds = alive[keep], bounds.keep(keep)

    def _update(self, kernels: Indices, bounds: QuadratureBounds) -> None:
        """Record bounds of kernels and let the leaders know."""
        lower = self.query.by_group(bounds.lower).T
        upper = self.query.by_group(bounds.upper).T
        self._check(kernels, bounds.diagonal.min(axis=1))
        candidates = self.query.candidates[:, kernels]
        with self.lock:
            self.products += kernels.size
            self.lower[:, kernels] = lower
            self.upper[:, kernels] = np.where(candidates, upper, -np.inf)
            best = np.where(candidates, lower, 0.0).max(axis=1)
            np.maximum(self.leader, best, out=self.leader)

    def _check(self, kernels: Indices, forms: Array) -> None:
        """Raise for a kernel with a negative quadratic form, or one not finite."""
        sound = forms >= -ROUNDING * self.traces.raw[kernels]
        if sound.all():
            return
        worst = int(np.argmin(sound))
        if not np.isfinite(forms[worst]):
            kernel = int(kernels[worst])
            raise IndefiniteKernelError(not_finite(kernel), kernel=kernel)
        raise IndefiniteKernelError(
            f"Gram matrix {kernels[worst]} is not positive semidefinite: it has an "
            f"eigenvalue of {forms[worst]:.3g} or less, where its trace is "
            f"{self.traces.raw[kernels[worst]]:.3g}. Repair it with repair_gram(K, "
            "'clip'), 'shift' or 'flip', or leave it out.",
            kernel=int(kernels[worst]),
        )
