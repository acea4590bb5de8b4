"""Which storage a dictionary gets where the user leaves it open, and why."""

from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.factors.landmarks import LowRank, known_ranks
from multikernel.gram.factors.ranks import HIGH, sampled_ranks
from multikernel.gram.lazy.stack import DENSE_BYTES
from multikernel.gram.matrix import IMAGE_BYTES
from multikernel.gram.memory import MODEST_BYTES, byte_limit, readable_bytes
from multikernel.gram.normalization import Steps, check_steps, empty_normalization
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import uncentred
from multikernel.linalg.threads import available_threads

STORAGE = ("auto", "by_kernel", "dense", "dense32", "lazy", "low_rank")
Storage = str | LowRank
"""The types of a ``storage`` parameter."""

SMALL = 2**25
"""Entries of all matrices up to which they are held whole: a tenth of a second's work
is not worth a look at ranks."""

# Nanoseconds on one core, from breast cancer x 837 kernels and from one-column
# Gaussians of 20 000 samples: to compute an entry of a matrix, to multiply by it, to
# compute an entry of a factor and to subtract one landmark from it, and a step of a
# matrix product.
ENTRY, PRODUCT, VALUE, LANDMARK, STEP = 4.0, 0.5, 10.0, 0.5, 0.1

WORK = 3
"""Matrices of all samples that a fit holds beside the kernels: a weighted sum, its
factorization, and a copy of one of them. The peaks of 10 fits of whole matrices, 2000
to 2500 samples, were 0.5 to 1.0 of the estimate. The peaks of 4 fits of factors, 12 000
to 30 000 samples, were 1.2 to 1.6 of it."""

PASSES, NEWTON_STEPS, ACTIVE = 20, 30, 20
"""What a fit takes at most: passes, Newton steps, and kernels in use. Storages are
compared by it."""

MEASURED = 0.1
"""What a fit takes over what it takes at most. Default sparse regressions took these
CPU seconds on one core (2026-11-23), in brackets what is expected by it: 1.6 (2.5) of
2000 samples and 12 kernels dense, 4.3 (8.2) of 3000, 3.1 (3.4) of 20 000 as factors,
3.6 (4.0) of 20 000 and 24 kernels, 24 (17.5) of 100 000 and 12; a classification of
3000 with lazy kernels 4.7 (9.1). Where factors were asked for small matrices it is
less: 6.0 (1.3) of 3000 samples, but 0.8 (6.1) of 5000 and 44 kernels. So users get an
order of magnitude only."""

MEASURED_ALL = 0.3
"""The same for models that use more kernels than `ACTIVE`, all of them for lp-norms:
default classifications took 0.6 seconds (0.9 expected) of 1000 samples and 24 kernels,
2.7 (2.5) of 2000, 13 (7) of 5000 and 37 (14) of 9000."""

ASKED = "it was asked for"
"""The reason for a storage that the user names."""

LONG = 120.0
"""Seconds that a fit may be expected to take before it says so."""


@dataclass(frozen=True)
class Choice:
    """A storage, the reason for it, and its expected cost.

    Parameters
    ----------
    storage : str or LowRank
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
        return self.storage if isinstance(self.storage, str) else "low_rank"

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
    in_use: int | None = None,
) -> Choice:
    """Choose a storage by what is predicted of each.

    Ranks are measured on a few kernels and samples. Factors are chosen where they
    are expected to take at most half of the time of whole matrices, or where these
    do not fit.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels, their columns given by indices.
    X : ndarray of shape (n_samples, n_features)
        Training samples.
    normalize : str, sequence of str, or None
        As in `build_stack`.
    storage : str or LowRank, default="auto"
        What the user asks for; anything but "auto" is kept.
    max_bytes : int, optional
        As in `build_stack`.
    in_use : int, optional
        How many kernels a model has at most; few of them when left out, as sparse ones.

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
    if isinstance(dictionary, InteractionDictionary) and keeps_products(normalize):
        choice = choose_products(dictionary, X, storage, max_bytes)
        if choice is not None:
            return choice
    limit = _limit(len(dictionary), len(X), max_bytes)
    in_use = ACTIVE if in_use is None else in_use
    costs = Costs(len(dictionary), X.shape[0], limit, in_use)
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
    given = dictionary.mains.kernels
    limit = _limit(len(dictionary), len(X), max_bytes)
    made = Costs(len(given), X.shape[0], limit)
    whole = made.products(len(dictionary))
    if asked and not in_factors:
        whole = made.halved(whole) if storage == "dense32" else whole
        return replace(whole, storage=storage, reason=ASKED)
    fits = whole.n_bytes <= made.limit
    if not asked and fits and made.n_kernels * made.n_samples**2 <= SMALL:
        return whole
    mains = ListDictionary([uncentred(kernel) for kernel in given])
    ranks = sampled_ranks(mains, X, extrapolate=True)
    thin = made.low_rank(ranks, storage if isinstance(storage, LowRank) else "low_rank")
    columns = made.n_kernels * float(ranks.mean())
    thin = replace(
        thin,
        reason=ASKED if asked else thin.reason,
        n_kernels=len(dictionary),
        n_bytes=thin.n_bytes + int(16 * columns**2),
        seconds=thin.seconds + made.shared_pass(0.5 * made.n_samples * columns**2),
    )
    if asked:
        return thin
    if 4.0 * ranks.mean() > len(X) or thin.n_bytes > made.limit:
        lazy = Costs(len(dictionary), len(X), made.limit).lazy()
        return whole if fits else lazy
    return whole if fits and 2.0 * thin.seconds > whole.seconds else thin


def _limit(n_kernels: int, n_samples: int, max_bytes: int | None) -> int:
    """Return the bytes that kernels may take: what any machine has, where they fit."""
    needed = 8 * (n_kernels + WORK) * n_samples**2
    if max_bytes is None and needed <= MODEST_BYTES:
        return MODEST_BYTES
    return byte_limit(max_bytes)


def keeps_products(normalize: Steps) -> bool:
    """Return whether products stay products: their kernels are at most scaled."""
    return empty_normalization(normalize, 1, 1).only_scales


def readable_seconds(seconds: float) -> str:
    """Return the order of magnitude of a time, as nobody knows more of it.

    Examples
    --------
    >>> readable_seconds(2.0), readable_seconds(200.0), readable_seconds(29_000.0)
    ('seconds', 'minutes', 'hours')
    """
    if seconds < 60.0:
        return "seconds"
    return "minutes" if seconds < 3600.0 else "hours"


def divides_centred(normalize: Steps) -> bool:
    """Return whether kernels are divided by the diagonal of what has been centred."""
    steps = check_steps(normalize)
    return "center" in steps and "cosine" in steps[steps.index("center") :]


@dataclass(frozen=True)
class Costs:
    """What is predicted of each storage.

    Parameters
    ----------
    n_kernels, n_samples : int
        Kernels and samples.
    limit : int
        Bytes that may be held.
    in_use : int
        Kernels that a model has at most.
    """

    n_kernels: int
    n_samples: int
    limit: int
    in_use: int = ACTIVE

    def asked_for(
        self, storage: Storage, dictionary: KernelDictionary, X: Array
    ) -> Choice:
        """Return what the user asked for."""
        if isinstance(storage, LowRank) or storage == "low_rank":
            # Where even high ranks take little, none is looked at.
            choice = self.low_rank(np.array([HIGH]), storage)
            if choice.n_bytes > MODEST_BYTES or choice.seconds > LONG:
                choice = self.low_rank(sampled_ranks(dictionary, X), storage)
        elif storage == "by_kernel":
            choice = self.by_kernel(sampled_ranks(dictionary, X)) or self.dense()
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
        """Return what is expected of whole matrices."""
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
            n_bytes=whole.n_bytes + min(products, IMAGE_BYTES),
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
        n_bytes = self.work + min(8 * entries, DENSE_BYTES, self.limit // 4)
        return Choice("lazy", why, self.n_kernels, n_bytes, seconds)

    def low_rank(self, ranks: Indices, storage: str | LowRank) -> Choice:
        """Return the choice of factors, its cost from the ranks of a few kernels."""
        # Kernels of high rank begin with so many landmarks; features are all there.
        ranks = np.where(ranks >= self.n_samples, LowRank().first, ranks)
        mean = float(ranks.mean())
        values = self.n_kernels * self.n_samples * mean
        each = VALUE + LANDMARK * float((ranks**2.0).mean()) / max(mean, 1.0)
        seconds = self._shared(values * (each + PASSES * PRODUCT))
        seconds += self._newton(min(self.in_use, self.n_kernels) * mean)
        n_bytes = int(8 * values + 8 * self.n_kernels * self.n_samples)
        used = min(min(self.in_use, self.n_kernels) * mean, self.n_samples)
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
        choice = self._by_ranks(ranks, only_scales=only_scales)
        thin = self.low_rank(ranks, "low_rank")
        quicker = 2.0 * thin.seconds < choice.seconds and thin.n_bytes <= self.limit
        if quicker and choice.name != "low_rank":
            return replace(choice, factors=thin)
        return choice

    def _by_ranks(self, ranks: Indices, *, only_scales: bool) -> Choice:
        """Return the storage to use, without the hint at quicker factors."""
        both = self.by_kernel(ranks) if only_scales else None
        if both is not None:
            # Factors of high rank were refined until they were wider than whole
            # matrices: hinge fits of 5000 samples and 24 kernels, three of high rank,
            # took 66 s to a gap of 0.06, and take 5 s to one of 3e-4.
            return both
        whole, thin = self.dense(), self.low_rank(ranks, "low_rank")
        fits = whole.n_bytes <= self.limit
        if 4.0 * ranks.mean() > self.n_samples or thin.n_bytes > self.limit:
            return whole if fits else self.lazy()
        if fits:
            return thin if 2.0 * thin.seconds <= whole.seconds else whole
        lazy = self.lazy()
        return thin if thin.seconds <= lazy.seconds else lazy

    def by_kernel(self, ranks: Indices) -> Choice | None:
        """Return what is expected of whole matrices where ranks are high, else factors.

        None where the ranks, of a few kernels, are all high or all low, or where the
        high ones' matrices do not fit.
        """
        high = ranks >= self.n_samples
        if high.all() or not high.any():
            return None
        n_whole = max(1, round(self.n_kernels * float(high.mean())))
        whole = replace(self, n_kernels=n_whole).dense()
        others = replace(self, n_kernels=max(1, self.n_kernels - n_whole))
        thin = others.low_rank(ranks[~high], "low_rank")
        n_bytes = whole.n_bytes + thin.n_bytes
        if n_bytes > self.limit:
            return None
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
        return MEASURED if self.in_use <= ACTIVE else MEASURED_ALL
