"""Choose how the kernels of a dictionary are stored, and say why."""

from dataclasses import replace

from multikernel._typing import Array
from multikernel.gram.costs import REQUESTED, SMALL, UNRANKED, Choice, Costs, Storage
from multikernel.gram.device.space import Device
from multikernel.gram.factors.landmarks import LowRank, known_ranks
from multikernel.gram.factors.ranks import sampled_ranks
from multikernel.gram.memory import byte_limit
from multikernel.gram.normalization import Steps, divides_centered, empty_normalization
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import uncenter
from multikernel.kernels.terms import MANY, paired_mains
from multikernel.linalg.threads import available_threads

# Bandwidths of memory: 20 GB/s for one core, and 2 TB/s for a device by data sheets.
DEVICE_SHARE = 0.01
"""Time on a device, as a share of the time on one core."""

PRODUCT_BYTES = 64
"""Bytes of a fit per product of two kernels: indices, scale, quadratic form, weight."""


def choose_storage(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Steps = None,
    storage: Storage = "auto",
    max_bytes: int | None = None,
    *,
    uses_all: bool = False,
) -> Choice:
    """Return the storage for the kernels of a dictionary, its reason and its cost.

    "auto" chooses matrices for small stacks, otherwise factors for kernels of low rank
    and matrices for kernels of high rank (`is_high`), according to the ranks of a few
    kernels. Kernels are lazy if neither fits in `max_bytes`. With `uses_all`, models
    use every kernel, as in lp-norm MKL.
    """
    if storage == "device" or isinstance(storage, Device):
        device = Device() if isinstance(storage, str) else storage
        return _device_choice(dictionary, X, normalize, device, max_bytes)
    if isinstance(dictionary, InteractionDictionary) and only_scales_kernels(normalize):
        choice = choose_products(dictionary, X, storage, max_bytes)
        if choice is not None:
            return choice
    limit = byte_limit(max_bytes, Costs(len(dictionary), len(X), 0).dense_bytes)
    costs = Costs(len(dictionary), X.shape[0], limit, uses_all)
    if storage != "auto":
        return costs.requested(storage, dictionary, X)
    return _default_choice(costs, dictionary, X, normalize)


def _default_choice(
    costs: Costs, dictionary: KernelDictionary, X: Array, normalize: Steps
) -> Choice:
    """Return the storage of kernels if the user names none."""
    ranks = known_ranks(dictionary, X)
    are_few = ranks is not None and 2 * ranks.sum() <= costs.n_kernels * len(X)
    fits = costs.dense_bytes <= costs.limit
    is_small = fits and costs.n_kernels * costs.n_samples**2 <= UNRANKED
    if are_few and not divides_centered(normalize):
        assert ranks is not None
        # If the active factors have more columns than samples, every Newton step
        # multiplies them out to n x n matrices: with five linear kernels of 80 columns
        # on 200 samples, a fit with factors took 1.6 times as long.
        if not is_small or ranks.sum() < len(X):
            return costs.low_rank(ranks, "low_rank")
    if is_small or (fits and divides_centered(normalize)):
        return costs.dense()
    if divides_centered(normalize):
        return costs.lazy()
    return costs.by_ranks(
        sampled_ranks(dictionary, X),
        normalization_only_scales=only_scales_kernels(normalize),
    )


def choose_products(
    dictionary: InteractionDictionary,
    X: Array,
    storage: Storage = "auto",
    max_bytes: int | None = None,
) -> Choice | None:
    """Return how to store interactions; None if `storage` does not use products."""
    # Products are computed from stored matrices or factors of the main kernels. Other
    # storages, such as "lazy", treat interactions like any other kernels.
    is_factored = storage == "low_rank" or isinstance(storage, LowRank)
    if not is_factored and storage not in ("auto", "dense", "dense32"):
        return None
    is_requested = storage != "auto"
    limit = byte_limit(max_bytes, Costs(len(dictionary), len(X), 0).dense_bytes)
    costs = Costs(len(dictionary.mains), X.shape[0], limit)
    products = costs.products(len(dictionary))
    if is_requested and not is_factored:
        products = costs.as_float32(products) if storage == "dense32" else products
        return replace(products, storage=storage, reason=REQUESTED)
    fits = products.n_bytes <= costs.limit
    if not is_requested and fits and costs.n_kernels * costs.n_samples**2 <= SMALL:
        return products
    # Matrices or factors, whichever is faster and fits; lazy kernels if neither fits.
    factored, rank = _factored_products(dictionary, X, costs, storage)
    if is_requested:
        return replace(factored, reason=REQUESTED)
    if 4.0 * rank > len(X) or factored.n_bytes > costs.limit:
        lazy_choice = Costs(len(dictionary), len(X), costs.limit).lazy()
        return products if fits else lazy_choice
    return products if fits and 2.0 * factored.seconds > products.seconds else factored


def _factored_products(
    dictionary: InteractionDictionary, X: Array, costs: Costs, storage: Storage
) -> tuple[Choice, float]:
    """Return the `Choice` of factors, and the mean rank of main kernels in products."""
    mains = ListDictionary([uncenter(kernel) for kernel in dictionary.mains.kernels])
    ranks = sampled_ranks(mains, X)
    low_rank = storage if isinstance(storage, LowRank) else "low_rank"
    factored = costs.low_rank(ranks, low_rank)
    # The mean excludes main kernels without products, which have higher ranks.
    members = [mains[m] for m in paired_mains(dictionary.terms).tolist()]
    ranks = sampled_ranks(ListDictionary(members), X) if members else ranks
    rank = float(ranks.mean())
    entries = costs.n_samples * (len(members) * rank) ** 2
    factored = replace(
        factored,
        n_kernels=len(dictionary),
        n_bytes=factored.n_bytes + PRODUCT_BYTES * min(len(dictionary), MANY),
        seconds=factored.seconds + costs.seconds_of_passes(0.5 * entries),
    )
    return factored, rank


def _device_choice(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Steps,
    device: Device,
    max_bytes: int | None,
) -> Choice:
    """Return the storage on a device, its reason and its cost."""
    is_factored, costs = bool(device.factors), Costs(len(dictionary), X.shape[0], 0)
    cost: Choice | None = costs.dense()
    if isinstance(dictionary, InteractionDictionary) and only_scales_kernels(normalize):
        if device.factors is None:
            default = choose_products(dictionary, X, max_bytes=max_bytes)
            is_factored = default is not None and default.name == "low_rank"
        cost = choose_products(dictionary, X, "low_rank" if is_factored else "dense")
        costs = Costs(len(dictionary.mains), X.shape[0], 0)
    elif is_factored:
        cost = costs.low_rank(sampled_ranks(dictionary, X), "low_rank")
    assert cost is not None
    if device.precision == "float32" and not is_factored:
        cost = costs.as_float32(cost)
    reason = f"{REQUESTED}, as {'factors' if is_factored else 'whole matrices'}"
    storage = replace(device, factors=is_factored)
    seconds = DEVICE_SHARE * available_threads() * cost.seconds
    return replace(cost, storage=storage, reason=reason, seconds=seconds)


def only_scales_kernels(normalize: Steps) -> bool:
    """Return whether the normalization only multiplies each kernel by a number."""
    return empty_normalization(normalize, 1, 1).only_scales
