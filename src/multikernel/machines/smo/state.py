"""The state of an SMO run: which samples are in play, and which are set aside."""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix
from multikernel.machines.base import support_product
from multikernel.machines.smo.rows import FETCH, RowSource, read_only
from multikernel.machines.smo.types import Outcome, Variables


@dataclass(eq=False)
class SMOState:
    """Variables of all samples, and those of the samples in play.

    Parameters
    ----------
    gram : GramMatrix
        The matrix over all samples.
    whole : Variables
        All samples. What `v` holds is newer for the samples in play.
    v : Variables
        The samples in play, `whole` itself where nobody is set aside.
    source : RowSource
        Rows over the samples in play.
    active : ndarray of shape (n_active,)
        Indices of the samples in play.
    aside : list of tuple
        For every time that samples were set aside: which, and rho at that time.
    """

    gram: GramMatrix
    whole: Variables
    v: Variables
    source: RowSource
    active: Indices
    aside: list[tuple[Indices, Array]] = field(default_factory=list)

    def thresholds(self, outcome: Outcome, paired: bool) -> tuple[float, float]:
        """Return (low, high): who cannot move up below high or down above low waits.

        In pairs a sample violates the optimality conditions against the best partner,
        alone against zero, give or take the present violation.
        """
        if not paired:
            return -outcome.violation, outcome.violation
        v = self.v
        return float(np.min(v.f + v.up)), float(np.max(v.f + v.down))

    def shrink(self, low: float, high: float) -> None:
        """Set aside the samples at a bound or kink that no step would choose now."""
        v = self.v
        waits = (v.f + v.up > high) & (v.f + v.down < low)
        keep = np.flatnonzero(~waits)
        source = self.source.narrowed(keep) if keep.size < waits.size else None
        if source is None:
            return
        self._write_back()
        self.aside.append((self.active[waits], self.whole.rho.copy()))
        self.active, self.source = self.active[keep], source
        part = Variables._make(entries[keep] for entries in v)
        self.v = part._replace(diagonal=read_only(part.diagonal))

    def widen(self) -> None:
        """Bring all samples back into play, with their decision values up to date."""
        if not self.aside:
            return
        self._write_back()
        for dropped, rho in self.aside:
            moved = support_product(self.gram, self.whole.rho - rho)
            self.whole.f[dropped] += moved[dropped]
        self.aside.clear()
        self.v, self.source = self.whole, self.source.widened()
        self.active = np.arange(self.whole.rho.size)

    def fetch(self, outcome: Outcome, paired: bool) -> None:
        """Fetch the row that is missing, and those that are likely to be next."""
        low, high = self.thresholds(outcome, paired) if paired else (0.0, 0.0)
        v = self.v
        violation = np.maximum(high - (v.f + v.up), v.f + v.down - low)
        violation[self.source.rows.slot >= 0] = -np.inf
        violation[outcome.missing] = np.inf
        count = min(FETCH, violation.size)
        worst = np.argpartition(-violation, count - 1)[:count]
        worst = worst[np.argsort(-violation[worst])]
        self.source.fetch(worst[violation[worst] > 0.0], outcome.step)

    def _write_back(self) -> None:
        if self.aside:
            for mine, part in zip(self.whole[:4], self.v[:4], strict=True):
                mine[self.active] = part
