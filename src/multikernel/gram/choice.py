"""Which storage a dictionary gets where the user leaves it open, and why."""

from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.device.space import Device
from multikernel.gram.factors.landmarks import LowRank, known_ranks
from multikernel.gram.factors.ranks import MEASURED, is_high, sampled_ranks
from multikernel.gram.matrix import HELD_BYTES
from multikernel.gram.memory import (
    MODEST_BYTES,
    byte_limit,
    readable_bytes,
    readable_seconds,
)
from multikernel.gram.normalization import Steps, divides_centred, empty_normalization
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import uncentred
from multikernel.kernels.terms import MANY, paired_mains
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.linalg.threads import available_threads

STORAGE = ("auto", "by_kernel", "dense", "dense32", "device", "lazy", "low_rank")
Storage = str | LowRank | Device
"""The types of a ``storage`` parameter."""

SMALL = 2**25
"""Entries of all matrices up to which they are held whole: a tenth of a second's work
is not worth a look at ranks."""

ENTRY, PRODUCT, VALUE, LANDMARK, STEP = 4.0, 0.5, 10.0, 0.5, 0.1
"""Nanoseconds on one core: to compute an entry of a matrix, to multiply by it, to
compute an entry of a factor, to subtract one landmark from it, and a step of a matrix
product."""

WORK = 3
"""Matrices of all samples that a fit holds beside the kernels: a weighted sum, its
factorization, and a copy of one of them."""

PASSES, NEWTON_STEPS, ACTIVE = 20, 30, 20
"""Passes, Newton steps and kernels in use of a long fit."""

TAKEN, TAKEN_ALL = 0.1, 0.3
"""Time of usual fits over that of a long fit: of sparse models, and of models that use
more kernels than `ACTIVE`."""

ON_DEVICE = 0.01
"""Time on a device over that on one core, by data sheets: a card reads 2 TB/s, and one
core 20 GB/s."""

ASKED = "it was asked for"
"""The reason for a storage that the user names."""

OF_A_PRODUCT = 64
"""Bytes of a product of mains that a fit holds: mains, scale, forms, weight."""

LONG = 120.0
"""Seconds that a fit may be expected to take before it says so."""


@dataclass(frozen=True)
class Choice:
    """A storage, the reason for it, and its expected cost.

    Parameters
    ----------
    storage : str, LowRank or Device
        The storage.
    reason : str
        Why, the second half of a sentence.
    n_kernels : int
        Kernels of the dictionary.
    n_bytes : int
        Peak memory of a fit in bytes, without the data.
    seconds : float
        Seconds of a fit, to an order of magnitude.
    factors : Choice, optional
        Expected cost of factors of all kernels, if it is less than half the time. They
        are not chosen by default, as factors may be too coarse for the requested gap.
    """

    storage: Storage
    reason: str
    n_kernels: int
    n_bytes: int
    seconds: float
    factors: "Choice | None" = None

    @property
    def name(self) -> str:
        """Return the storage by name."""
        if isinstance(self.storage, str):
            return self.storage
        return "device" if isinstance(self.storage, Device) else "low_rank"

    @property
    def advice(self) -> str:
        """Return a sentence about a quicker storage, empty where none is known."""
        if self.factors is None:
            return ""
        return (
            f"storage='low_rank' may take {readable_seconds(self.factors.seconds)} and "
            f"{readable_bytes(self.factors.n_bytes)} instead; kernels of high rank may "
            "then keep the gap above tol, which the fit says."
        )


def choose_storage(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Steps = None,
    storage: Storage = "auto",
    max_bytes: int | None = None,
    *,
    uses_all: bool = False,
) -> Choice:
    """Choose a storage by the ranks of a few kernels on some samples.

    Small matrices are whole. Otherwise all kernels are factors if no rank is above a
    quarter of the samples, and the columns that a model uses together are no more than
    the samples. If this fails, kernels of high rank are whole (see `is_high`). If whole
    matrices do not fit, kernels are lazy.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels, their columns given by indices.
    X : ndarray of shape (n_samples, n_features)
        Training samples.
    normalize : str, sequence of str, or None
        As in `build_stack`.
    storage : str, LowRank or Device, default="auto"
        What the user asks for; anything but "auto" is kept.
    max_bytes : int, optional
        As in `build_stack`.
    uses_all : bool, default=False
        Whether models have every kernel, as lp-norm MKL does.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> from multikernel.kernels import GaussianKernel, ParameterGrid
    >>> X = np.random.default_rng(0).normal(size=(3000, 10))
    >>> choice = choose_storage(ParameterGrid([GaussianKernel(2.0)], range(10)), X)
    >>> choice.name
    'low_rank'
    >>> choice.reason
    'its factors have some 11 columns a kernel, 2.86 MB in place of 720 MB'
    """
    if storage == "device" or isinstance(storage, Device):
        device = Device() if isinstance(storage, str) else storage
        return _on_device(dictionary, X, normalize, device, max_bytes)
    if isinstance(dictionary, InteractionDictionary) and keeps_products(normalize):
        choice = choose_products(dictionary, X, storage, max_bytes)
        if choice is not None:
            return choice
    limit = _limit(len(dictionary), len(X), max_bytes)
    costs = Costs(len(dictionary), X.shape[0], limit, uses_all)
    if storage != "auto":
        return costs.asked_for(storage, dictionary, X)
    features = known_ranks(dictionary, X)
    thin = features is not None and 2 * features.sum() <= costs.n_kernels * len(X)
    whole = costs.dense()
    fits = whole.n_bytes <= costs.limit
    small = fits and costs.n_kernels * costs.n_samples**2 <= SMALL
    if thin and not divides_centred(normalize):
        assert features is not None
        # Factors that are wider together than there are samples are summed up to
        # matrices of all samples for every Newton step: five linear kernels of 80
        # columns on 200 samples took 1.6 times as long so.
        if not small or features.sum() < len(X):
            return costs.low_rank(features, "low_rank")
    if small:
        return whole
    if divides_centred(normalize):
        return whole if fits else costs.lazy()
    return costs.by_ranks(
        sampled_ranks(dictionary, X), only_scales=keeps_products(normalize)
    )


def choose_products(
    dictionary: InteractionDictionary,
    X: Array,
    storage: Storage = "auto",
    max_bytes: int | None = None,
) -> Choice | None:
    """Return the storage of main kernels and their products, and what it will cost.

    It is whole matrices or factors, whichever is quicker and fits; kernels that fit in
    neither way are recomputed. None if the user asked for another storage.
    """
    in_factors = storage == "low_rank" or isinstance(storage, LowRank)
    if not in_factors and storage not in ("auto", "dense", "dense32"):
        return None
    asked = storage != "auto"
    limit = _limit(len(dictionary), len(X), max_bytes)
    made = Costs(len(dictionary.mains), X.shape[0], limit)
    whole = made.products(len(dictionary))
    if asked and not in_factors:
        whole = made.halved(whole) if storage == "dense32" else whole
        return replace(whole, storage=storage, reason=ASKED)
    fits = whole.n_bytes <= made.limit
    if not asked and fits and made.n_kernels * made.n_samples**2 <= SMALL:
        return whole
    thin, rank = _in_factors(dictionary, X, made, storage)
    if asked:
        return replace(thin, reason=ASKED)
    if 4.0 * rank > len(X) or thin.n_bytes > made.limit:
        lazy = Costs(len(dictionary), len(X), made.limit).lazy()
        return whole if fits else lazy
    return whole if fits and 2.0 * thin.seconds > whole.seconds else thin


def _in_factors(
    dictionary: InteractionDictionary, X: Array, made: "Costs", storage: Storage
) -> tuple[Choice, float]:
    """Return the choice of factors, and the mean rank of the mains in products."""
    mains = ListDictionary([uncentred(kernel) for kernel in dictionary.mains.kernels])
    ranks = sampled_ranks(mains, X)
    thin = made.low_rank(ranks, storage if isinstance(storage, LowRank) else "low_rank")
    # Kernels on all columns are in no pair, and have higher ranks.
    paired = [mains[m] for m in paired_mains(dictionary.terms).tolist()]
    ranks = sampled_ranks(ListDictionary(paired), X) if paired else ranks
    columns = len(paired) * float(ranks.mean())
    thin = replace(
        thin,
        n_kernels=len(dictionary),
        n_bytes=thin.n_bytes + OF_A_PRODUCT * min(len(dictionary), MANY),
        seconds=thin.seconds + made.shared_pass(0.5 * made.n_samples * columns**2),
    )
    return thin, float(ranks.mean())


def _on_device(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Steps,
    device: Device,
    max_bytes: int | None,
) -> Choice:
    """Return the storage on a device, and its cost: interactions may be factors."""
    factors, made = False, Costs(len(dictionary), X.shape[0], 0)
    cost: Choice | None = made.dense()
    if isinstance(dictionary, InteractionDictionary) and keeps_products(normalize):
        auto = choose_products(dictionary, X, max_bytes=max_bytes)
        factors = auto is not None and auto.name == "low_rank"
        factors = factors if device.factors is None else device.factors
        cost = choose_products(dictionary, X, "low_rank" if factors else "dense")
        made = Costs(len(dictionary.mains), X.shape[0], 0)
    elif device.factors:
        raise ValueError(
            "Device(factors=True) requires Interactions that normalize only scales: "
            "use factors=None, or storage='low_rank' for factors of other kernels."
        )
    assert cost is not None
    if device.precision == "float32" and not factors:
        cost = made.halved(cost)
    reason = f"{ASKED}, as {'factors' if factors else 'whole matrices'}"
    storage = replace(device, factors=factors)
    seconds = ON_DEVICE * available_threads() * cost.seconds
    return replace(cost, storage=storage, reason=reason, seconds=seconds)


def _limit(n_kernels: int, n_samples: int, max_bytes: int | None) -> int:
    """Return the bytes that kernels may take: what any machine has, where they fit."""
    needed = 8 * (n_kernels + WORK) * n_samples**2
    if max_bytes is None and needed <= MODEST_BYTES:
        return MODEST_BYTES
    return byte_limit(max_bytes)


def keeps_products(normalize: Steps) -> bool:
    """Return whether products stay products: their kernels are at most scaled."""
    return empty_normalization(normalize, 1, 1).only_scales


@dataclass(frozen=True)
class Costs:
    """What is predicted of each storage.

    Parameters
    ----------
    n_kernels, n_samples : int
        Kernels and samples.
    limit : int
        Bytes that may be held.
    uses_all : bool, default=False
        Whether models have every kernel, not at most `ACTIVE`.
    """

    n_kernels: int
    n_samples: int
    limit: int
    uses_all: bool = False

    @property
    def in_use(self) -> int:
        """Return how many kernels a model has at most."""
        return self.n_kernels if self.uses_all else min(ACTIVE, self.n_kernels)

    def asked_for(
        self, storage: Storage, dictionary: KernelDictionary, X: Array
    ) -> Choice:
        """Return what the user asked for."""
        if isinstance(storage, LowRank) or storage == "low_rank":
            # Where even high ranks take little, none is looked at.
            choice = self.low_rank(np.array([MEASURED]), storage)
            if choice.n_bytes > MODEST_BYTES or choice.seconds > LONG:
                choice = self.low_rank(sampled_ranks(dictionary, X), storage)
        elif storage == "by_kernel":
            choice = replace(self, limit=2**62).by_ranks(
                sampled_ranks(dictionary, X), only_scales=True
            )
        else:
            choice = self.lazy() if storage == "lazy" else self.dense()
        half = storage == "dense32"
        n_bytes = self.halved(choice).n_bytes if half else choice.n_bytes
        return Choice(storage, ASKED, self.n_kernels, n_bytes, choice.seconds)

    def halved(self, whole: Choice) -> Choice:
        """Return a choice with its kernels in single precision; solvers use double."""
        half = 4 * self.n_kernels * self.n_samples**2
        return replace(whole, n_bytes=whole.n_bytes - half)

    def dense(self) -> Choice:
        """Return the cost of whole matrices."""
        entries = self.n_kernels * self.n_samples**2
        seconds = self._shared(entries * (ENTRY + PASSES * PRODUCT))
        seconds += self._newton(self.n_samples)
        bytes_, limit = readable_bytes(8 * entries), readable_bytes(self.limit)
        why = f"its matrices take {bytes_}, within the limit of {limit}"
        n_bytes = 8 * entries + self.work
        return Choice("dense", why, self.n_kernels, n_bytes, seconds)

    @property
    def work(self) -> int:
        """Return the bytes of a fit in addition to whole kernels; see `WORK`."""
        return 8 * WORK * self.n_samples**2

    def products(self, n_kernels: int) -> Choice:
        """Return the choice of whole mains, products computed, with its cost."""
        whole, limit = self.dense(), readable_bytes(self.limit)
        # Products are made as whole matrices, a few at a time.
        products = 8 * (n_kernels - self.n_kernels) * self.n_samples**2
        # In single precision, a quarter of V diag(rho rho') V': see `gram.products`.
        entries = self.n_kernels**2 * float(self.n_samples) ** 2
        return replace(
            whole,
            reason=f"its {self.n_kernels} main matrices take "
            f"{readable_bytes(whole.n_bytes - self.work)}, within the limit of "
            f"{limit}, and interactions are products",
            n_kernels=n_kernels,
            n_bytes=whole.n_bytes + min(products, CHUNK_BYTES),
            seconds=whole.seconds + self.shared_pass(0.125 * entries),
        )

    def shared_pass(self, steps: float) -> float:
        """Return the seconds of all passes, each with `steps` multiplications."""
        return self._shared(PASSES * STEP * steps)

    def lazy(self) -> Choice:
        """Return the choice of matrices computed for every pass, with its cost."""
        entries = self.n_kernels * self.n_samples**2
        seconds = self._shared(PASSES * entries * (ENTRY + PRODUCT))
        seconds += self._newton(self.n_samples)
        bytes_, limit = readable_bytes(8 * entries), readable_bytes(self.limit)
        why = f"its matrices would take {bytes_}, above the limit of {limit}"
        n_bytes = self.work + min(8 * entries, HELD_BYTES, self.limit // 4)
        return Choice("lazy", why, self.n_kernels, n_bytes, seconds)

    def low_rank(self, ranks: Indices, storage: str | LowRank) -> Choice:
        """Return the choice of factors, its cost from the ranks of a few kernels."""
        # Kernels of high rank begin with so many landmarks; features are all there.
        ranks = np.where(is_high(ranks, self.n_samples), LowRank().first, ranks)
        mean = float(ranks.mean())
        values = self.n_kernels * self.n_samples * mean
        each = VALUE + LANDMARK * float((ranks**2.0).mean()) / max(mean, 1.0)
        seconds = self._shared(values * (each + PASSES * PRODUCT))
        seconds += self._newton(self.in_use * mean)
        n_bytes = int(8 * values + 8 * self.n_kernels * self.n_samples)
        used = min(self.in_use * mean, self.n_samples)
        # The factors of the kernels in use are copied, side by side.
        work = int(8 * used * self.n_samples)
        whole = readable_bytes(8 * self.n_kernels * self.n_samples**2)
        why = (
            f"its factors have some {mean:.0f} columns a kernel, "
            f"{readable_bytes(n_bytes)} in place of {whole}"
        )
        return Choice(storage, why, self.n_kernels, n_bytes + work, seconds)

    def by_ranks(self, ranks: Indices, *, only_scales: bool) -> Choice:
        """Return the storage to use, given the ranks of a few kernels.

        `only_scales` says that normalization only multiplies matrices, so that each
        kernel can be stored in its own way. If factors of all kernels would be much
        quicker than the storage returned, its `factors` say so, for a warning.
        """
        thin, lazy = self.low_rank(ranks, "low_rank"), self.lazy()
        choice = self._if_it_fits(ranks, thin, only_scales=only_scales)
        if choice.n_bytes > self.limit:
            is_thin = not self._is_thick(ranks) and thin.n_bytes <= self.limit
            choice = thin if is_thin else lazy
        quicker = 2.0 * thin.seconds < choice.seconds and thin.n_bytes <= self.limit
        return replace(choice, factors=thin) if quicker else choice

    def _if_it_fits(self, ranks: Indices, thin: Choice, *, only_scales: bool) -> Choice:
        """Return the quickest storage, whatever its bytes.

        Factors with fewer columns together than there are samples are never multiplied
        out to a matrix (`LowRankStack.combine`); sparse models use few kernels.
        """
        n_samples, high = self.n_samples, is_high(ranks, self.n_samples)
        columns = self.n_kernels * ranks.mean() if self.uses_all else 0.0
        if 4 * ranks.max() <= n_samples and columns <= n_samples:
            return thin
        if high.all() or not high.any():
            return self.dense() if high.all() else thin
        if only_scales:
            return self.by_kernel(ranks)
        return self.dense() if self._is_thick(ranks) else thin

    def _is_thick(self, ranks: Indices) -> bool:
        """Return whether a quarter of the ranks are above a quarter of the samples."""
        return bool(np.mean(4 * ranks > self.n_samples) >= 0.25)

    def by_kernel(self, ranks: Indices) -> Choice:
        """Return the cost of whole matrices for high ranks and of factors for low ones.

        There are ranks of both kinds.
        """
        high = is_high(ranks, self.n_samples)
        n_whole = max(1, round(self.n_kernels * float(high.mean())))
        whole = replace(self, n_kernels=n_whole).dense()
        others = replace(self, n_kernels=max(1, self.n_kernels - n_whole))
        thin = others.low_rank(ranks[~high], "low_rank")
        n_bytes = whole.n_bytes + thin.n_bytes
        why = (
            f"some {n_whole} of its kernels are of high rank, whole, and factors of "
            f"the others have some {ranks[~high].mean():.0f} columns, "
            f"{readable_bytes(n_bytes)} in all"
        )
        seconds = whole.seconds + thin.seconds
        return Choice("by_kernel", why, self.n_kernels, n_bytes, seconds)

    def _shared(self, nanoseconds: float) -> float:
        """Return the seconds of work that all threads share."""
        return 1e-9 * self._measured * nanoseconds / available_threads()

    def _newton(self, rank: float) -> float:
        """Return the seconds of the Newton steps of a fit."""
        rank = min(rank, self.n_samples)
        steps = NEWTON_STEPS * self.n_samples * rank * rank
        return 1e-9 * self._measured * STEP * steps

    @property
    def _measured(self) -> float:
        """Return the measured time of fits, as a share of the most they take."""
        return TAKEN if self.in_use <= ACTIVE else TAKEN_ALL
