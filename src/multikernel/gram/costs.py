"""Expected time and memory of a fit in each storage."""

from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.device.space import Device
from multikernel.gram.factors.landmarks import LowRank
from multikernel.gram.factors.ranks import MEASURED, is_high, sampled_ranks
from multikernel.gram.matrix import HELD_BYTES
from multikernel.gram.memory import MODEST_BYTES, readable_bytes, readable_seconds
from multikernel.kernels.base import KernelDictionary
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.linalg.threads import available_threads

STORAGE = ("auto", "by_kernel", "dense", "dense32", "device", "lazy", "low_rank")
Storage = str | LowRank | Device
"""The types of a ``storage`` parameter."""

# A fit of so few entries takes a tenth of a second. Main kernels of interactions are
# then stored as matrices, without estimates of ranks.
SMALL = 2**25
"""Largest total number of matrix entries for which no kernel is approximated."""

# This limit is for dictionaries without interactions. With 12 million entries, a search
# with ten classes, 400 rows and 64 columns took twice as long with stored matrices as
# with the storage "by_kernel".
UNRANKED = 2**23
"""Largest number of matrix entries that are stored without estimates of ranks."""

# ENTRY: compute an entry of a matrix. PRODUCT: multiply a stored entry by a number.
# VALUE: compute an entry of a factor, to which each landmark adds LANDMARK. STEP: one
# multiplication in a product of two matrices.
ENTRY, PRODUCT, VALUE, LANDMARK, STEP = 4.0, 0.5, 10.0, 0.5, 0.1
"""Nanoseconds that five kinds of steps take on one core."""

N_COPIES = 3
"""n x n matrices besides the kernels: a weighted sum, its factorization, a copy."""

PASSES, NEWTON_STEPS, ACTIVE = 20, 30, 20
"""Passes, Newton steps and active kernels of a long fit."""

TYPICAL_SHARE, TYPICAL_SHARE_ALL = 0.1, 0.3
"""Time of a typical fit as a share of the time of a long fit: with at most `ACTIVE`
active kernels, and with more."""

REQUESTED = "it was asked for"
"""The reason to report for a storage that the user requested."""

LONG = 120.0
"""Expected seconds of a fit above which it prints an estimate."""


# A default search took 90 ms with stored products (164 ms with computed ones) on 100
# samples and 14 kernels, 445 ms (585) on 300 and 40, and 1680 ms (530) on 200 and 214.
WRITTEN = 2**22
"""Largest total number of entries of products that are stored."""


@dataclass(frozen=True)
class Choice:
    """A storage, the reason for it, and its expected cost."""

    storage: Storage
    reason: str  # the clause after "storage 'dense', as" in messages
    n_kernels: int
    n_bytes: int  # peak memory of a fit, without the data
    seconds: float  # order of magnitude of the time of a fit
    # Factors of all kernels, if a fit with them takes less than half the time. They are
    # not the default because they may be too coarse for the requested gap.
    factors: "Choice | None" = None

    @property
    def name(self) -> str:
        """Return the storage name: "device" for `Device`, "low_rank" for `LowRank`."""
        if isinstance(self.storage, str):
            return self.storage
        return "device" if isinstance(self.storage, Device) else "low_rank"

    @property
    def advice(self) -> str:
        """Return a sentence about a faster storage, empty if there is none."""
        if self.factors is None:
            return ""
        return (
            f"storage='low_rank' may take {readable_seconds(self.factors.seconds)} and "
            f"{readable_bytes(self.factors.n_bytes)} instead; kernels of high rank may "
            "then keep the gap above tol, and the fit warns of it."
        )


@dataclass(frozen=True)
class Costs:
    """Predictor of the time and the memory of a fit in each storage."""

    n_kernels: int
    n_samples: int
    limit: int  # bytes that the kernels may take
    uses_all: bool = False  # whether models use every kernel, not at most `ACTIVE`

    @property
    def n_active(self) -> int:
        """Return the assumed number of active kernels of a model; all if `uses_all`."""
        return self.n_kernels if self.uses_all else min(ACTIVE, self.n_kernels)

    def requested(
        self, storage: Storage, dictionary: KernelDictionary, X: Array
    ) -> Choice:
        """Return the storage that the user requested, with its cost."""
        if isinstance(storage, LowRank) or storage == "low_rank":
            # If a fit is fast even with high ranks, ranks are not computed.
            choice = self.low_rank(np.array([MEASURED]), storage)
            if choice.n_bytes > MODEST_BYTES or choice.seconds > LONG:
                choice = self.low_rank(sampled_ranks(dictionary, X), storage)
        elif storage == "by_kernel":
            choice = replace(self, limit=2**62).by_ranks(
                sampled_ranks(dictionary, X), normalization_only_scales=True
            )
        else:
            choice = self.lazy() if storage == "lazy" else self.dense()
        is_single = storage == "dense32"
        n_bytes = self.as_float32(choice).n_bytes if is_single else choice.n_bytes
        return Choice(storage, REQUESTED, self.n_kernels, n_bytes, choice.seconds)

    def as_float32(self, choice: Choice) -> Choice:
        """Return a choice with kernels in float32, and all other arrays in float64."""
        saved_bytes = 4 * self.n_kernels * self.n_samples**2
        return replace(choice, n_bytes=choice.n_bytes - saved_bytes)

    def dense(self) -> Choice:
        """Return the choice of whole matrices, with its cost."""
        needed = readable_bytes(8 * self.n_kernels * self.n_samples**2)
        limit = readable_bytes(self.limit)
        reason = f"its matrices take {needed}, within the limit of {limit}"
        seconds = self._dense_seconds()
        return Choice("dense", reason, self.n_kernels, self.dense_bytes, seconds)

    @property
    def dense_bytes(self) -> int:
        """Return the bytes that a fit with whole matrices needs; see `N_COPIES`."""
        return 8 * (self.n_kernels + N_COPIES) * self.n_samples**2

    def products(self, n_kernels: int) -> Choice:
        """Return the choice that stores main kernels, but computes their products."""
        # Products are computed as whole matrices, a few at a time.
        products = 8 * (n_kernels - self.n_kernels) * self.n_samples**2
        n_bytes = self.dense_bytes + min(products, CHUNK_BYTES)
        # The quadratic forms V diag(w) V' of `gram.products` have n_mains^2 n_samples^2
        # steps. A quarter of them remain, because V has one triangle of each matrix and
        # the result is symmetric.
        entries = self.n_kernels**2 * float(self.n_samples) ** 2
        seconds = self._dense_seconds(0.25 * entries)
        if stores_products(n_kernels, self.n_samples):
            n_stored, stored, ending = n_kernels, f"its {n_kernels} matrices", ""
        else:
            n_stored = self.n_kernels
            stored = f"the matrices of its {n_stored} main kernels"
            ending = ", and interactions are computed from them"
        needed = readable_bytes(8 * n_stored * self.n_samples**2)
        limit = readable_bytes(self.limit)
        reason = f"{stored} take {needed}, within the limit of {limit}{ending}"
        return Choice("dense", reason, n_kernels, n_bytes, seconds)

    def _dense_seconds(self, steps: float = 0.0) -> float:
        """Return the seconds of a fit, with `steps` more multiplications per pass."""
        entries = self.n_kernels * self.n_samples**2
        nanoseconds = entries * (ENTRY + PASSES * PRODUCT) + PASSES * STEP * steps
        return self._seconds(nanoseconds, self.n_samples)

    def seconds_of_passes(self, steps: float) -> float:
        """Return the seconds of a fit's passes, of `steps` multiplications each."""
        return self._seconds(PASSES * STEP * steps)

    def lazy(self) -> Choice:
        """Return the choice of matrices recomputed for every pass, with its cost."""
        entries = self.n_kernels * self.n_samples**2
        seconds = self._seconds(PASSES * entries * (ENTRY + PRODUCT), self.n_samples)
        needed, limit = readable_bytes(8 * entries), readable_bytes(self.limit)
        reason = f"its matrices would take {needed}, above the limit of {limit}"
        work_bytes = self.dense_bytes - 8 * entries
        n_bytes = work_bytes + min(8 * entries, HELD_BYTES, self.limit // 4)
        return Choice("lazy", reason, self.n_kernels, n_bytes, seconds)

    def low_rank(self, ranks: Indices, storage: str | LowRank) -> Choice:
        """Return the factored storage, with its cost estimated from a few ranks."""
        # Kernels of high rank start with `LowRank.first` landmarks; explicit features
        # are used in full.
        ranks = np.where(is_high(ranks, self.n_samples), LowRank().first, ranks)
        mean = float(ranks.mean())
        n_values = self.n_kernels * self.n_samples * mean
        value_time = VALUE + LANDMARK * float((ranks**2.0).mean()) / max(mean, 1.0)
        nanoseconds = n_values * (value_time + PASSES * PRODUCT)
        seconds = self._seconds(nanoseconds, self.n_active * mean)
        n_bytes = int(8 * n_values + 8 * self.n_kernels * self.n_samples)
        n_columns = min(self.n_active * mean, self.n_samples)
        # The factors of active kernels are copied into one array.
        copied_bytes = int(8 * n_columns * self.n_samples)
        dense_bytes = readable_bytes(8 * self.n_kernels * self.n_samples**2)
        reason = (
            f"its factors have about {mean:.0f} columns per kernel, "
            f"{readable_bytes(n_bytes)} instead of {dense_bytes}"
        )
        return Choice(storage, reason, self.n_kernels, n_bytes + copied_bytes, seconds)

    def by_ranks(self, ranks: Indices, *, normalization_only_scales: bool) -> Choice:
        """Return the storage to use, given the ranks of a few kernels."""
        # Scaling means that the normalization multiplies each kernel by a number.
        factored, lazy = self.low_rank(ranks, "low_rank"), self.lazy()
        choice = self._fastest(
            ranks, factored, normalization_only_scales=normalization_only_scales
        )
        if choice.n_bytes > self.limit:
            use_factors = not self._often_high(ranks) and factored.n_bytes <= self.limit
            choice = factored if use_factors else lazy
        # The cost of factors is reported in a warning if they would be much faster.
        if 2.0 * factored.seconds < choice.seconds and factored.n_bytes <= self.limit:
            return replace(choice, factors=factored)
        return choice

    def _fastest(
        self, ranks: Indices, factored: Choice, *, normalization_only_scales: bool
    ) -> Choice:
        """Return the storage that would be fastest if there were enough memory."""
        n_samples, high = self.n_samples, is_high(ranks, self.n_samples)
        n_columns = self.n_kernels * ranks.mean() if self.uses_all else 0.0
        if 4 * ranks.max() <= n_samples and n_columns <= n_samples:
            return factored
        if high.all() or not high.any():
            return self.dense() if high.all() else factored
        # Kernels that are only scaled can each be stored in their own way.
        if normalization_only_scales:
            return self.by_kernel(ranks)
        return self.dense() if self._often_high(ranks) else factored

    def _often_high(self, ranks: Indices) -> bool:
        """Return whether a quarter of the ranks exceed a quarter of `n_samples`."""
        return bool(np.mean(4 * ranks > self.n_samples) >= 0.25)

    def by_kernel(self, ranks: Indices) -> Choice:
        """Return the cost of kernels of high rank as matrices, others as factors."""
        # `ranks` are those of a few sampled kernels; some are high and some are low.
        high = is_high(ranks, self.n_samples)
        n_dense = max(1, round(self.n_kernels * float(high.mean())))
        dense_choice = replace(self, n_kernels=n_dense).dense()
        low_costs = replace(self, n_kernels=max(1, self.n_kernels - n_dense))
        factored = low_costs.low_rank(ranks[~high], "low_rank")
        n_bytes = dense_choice.n_bytes + factored.n_bytes
        reason = (
            f"about {n_dense} of its kernels have a high rank and are stored as "
            "matrices, the others as factors with about "
            f"{ranks[~high].mean():.0f} columns, {readable_bytes(n_bytes)} in all"
        )
        seconds = dense_choice.seconds + factored.seconds
        return Choice("by_kernel", reason, self.n_kernels, n_bytes, seconds)

    def _seconds(self, nanoseconds: float, newton_rank: float = 0.0) -> float:
        """Return the expected seconds of a fit on all threads."""
        # `nanoseconds` is the time on one core of all work that threads share. Newton's
        # steps, with systems of the rank `newton_rank`, count as work of one thread.
        rank = min(newton_rank, self.n_samples)
        newton = NEWTON_STEPS * STEP * self.n_samples * rank * rank
        is_dense_model = self.uses_all and self.n_kernels > ACTIVE
        share = TYPICAL_SHARE_ALL if is_dense_model else TYPICAL_SHARE
        return 1e-9 * share * (nanoseconds / available_threads() + newton)


def stores_products(n_kernels: int, n_samples: int) -> bool:
    """Return whether product kernels have few enough entries to be stored."""
    return n_kernels * n_samples**2 <= WRITTEN
