"""Choice of kernels and their storage for methods that learn from Gram matrices."""

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel._validation import listed, shown
from multikernel.estimators.grams.grams import (
    GramOptions,
    gram_matrices,
    without_constants,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.grams.useless import check_kernels
from multikernel.estimators.method import Source
from multikernel.estimators.read.dictionary import KernelNames, choose_kernels
from multikernel.estimators.read.precomputed import names_of_grams, prefix_matrix_names
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.unpenalized import find_design
from multikernel.exceptions import LongFitWarning, warn_user
from multikernel.gram import Device, LowRank
from multikernel.gram.choice import choose_storage
from multikernel.gram.costs import LONG, Choice, Storage
from multikernel.gram.factors.row_blocks import SampledRows
from multikernel.gram.memory import check_memory, readable_bytes, readable_seconds
from multikernel.gram.normalization import check_steps
from multikernel.kernels import KernelDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.linalg.tables import find_memmap

KNOWN_SIZES = ("by_kernel", "dense", "dense32", "device")
"""Storages whose size is known before a fit; the size of factors depends on ranks."""

BY_MAIN_KERNELS = "interactions are computed from the main kernels, which are stored"
"""Explanation in ``fit_info_`` if interactions are not stored as requested."""

MEMORY_ADVICE = "Use storage='low_rank', fewer samples or kernels, or raise max_bytes."
"""Last sentence of the error if the matrices do not fit into memory."""

PRECOMPUTED = "the kernels are precomputed matrices"
"""Explanation of the storage in ``fit_info_`` for precomputed kernels."""


@dataclass(frozen=True, eq=False)
class GramSource(Source):
    """Kernels, storage and options of the Gram matrices from which a method learns."""

    options: GramOptions
    fit_intercept: bool
    # Whether the choice of a storage is written to standard error.
    verbose: bool
    # Whether factors of low rank are refined if a certificate requires it; otherwise
    # they have the maximum rank from the start.
    refines: bool = True
    # Whether every kernel is active in every model.
    uses_all: bool = False
    # Whether default kernels may have interactions. This requires a sparse model, which
    # selects among them, and a `normalize` that only scales the kernels, so that
    # products of kernels stay products.
    paired: bool = False
    # Whether a sample far from all others must get a low decision value. If so, default
    # kernels are bounded, and smaller differences of scale between columns cause a
    # warning.
    novelty: bool = False
    penalty_weights: Mapping[str, float] | Sequence[float] | Array | None = None

    def prepare(
        self, samples: Samples, report: Callable[[float], None] | None = None
    ) -> Training:
        """Choose the kernels and their storage, and compute the Gram matrices."""
        design = None
        if samples.table.views:
            design = find_design(self.owner, samples, fit_intercept=self.fit_intercept)
        kernels = choose_kernels(samples, bounded=self.novelty, paired=self.paired)
        dictionary = kernels.dictionary
        factors: Any = 1.0
        if isinstance(dictionary, InteractionDictionary):
            factors = dictionary.scales()
        if self.penalty_weights is not None:
            factors = np.asarray(factors) * penalty_factors(
                self.owner, self.penalty_weights, dictionary, samples
            )
        options = replace(self.options, report=report).scaled(factors)
        fit_info = {"storage": "precomputed", "storage_reason": PRECOMPUTED}
        if dictionary is not None:
            choice = resolve_storage(self, dictionary, samples.X, options)
            options = replace(options, storage=choice.storage)
            fit_info = {"storage": choice.name, "storage_reason": choice.reason}
        fit_info["left_out"] = kernels.left_out
        if self.verbose and kernels.left_out:
            sys.stderr.write(f"{self.owner}: left out {kernels.left_out}\n")
        if not self.refines:
            options = options.with_all_landmarks()
        # Matrices from which folds are cut are normalized later.
        build_options = options.before_split() if self.parts else options
        inputs = dictionary, samples.X, build_options, samples.weights
        with prefix_matrix_names(names_of_grams(samples.table.given)):
            built = gram_matrices(*inputs)
            # The offset of novelty detection is part of the loss, not an intercept.
            if self.fit_intercept and not (self.parts or self.novelty):
                built = without_constants(built, *inputs)
        source = replace(self, options=options)
        training = Training(samples, built, kernels, source, fit_info, design)
        check_kernels(training)
        return training


def gram_source(model: BaseEstimator, **overrides: bool) -> GramSource:
    """Return the `GramSource` that an estimator's parameters and `overrides` define."""
    return GramSource(
        type(model).__name__,
        model.kernels,
        GramOptions(check_steps(model.normalize), model.storage, model.max_bytes),
        getattr(model, "fit_intercept", True),
        bool(model.verbose),
        penalty_weights=getattr(model, "penalty_weights", None),
        **overrides,
    )


def _main_kernel_storage(storage: Storage, dictionary: KernelDictionary) -> Storage:
    """Return `storage`; for interactions, one that stores only their main kernels."""
    # Interactions are products of main kernels. Storing or recomputing every product
    # would take hours.
    if not isinstance(dictionary, InteractionDictionary):
        return storage
    if isinstance(storage, LowRank):
        return replace(storage, folder=None, dtype="float64")
    if isinstance(storage, Device):
        return storage
    return {"by_kernel": "auto", "lazy": "low_rank"}.get(storage, storage)


def storage_choice(
    source: GramSource, dictionary: KernelDictionary, X: Array, options: GramOptions
) -> Choice:
    """Return the requested or chosen storage, with the expected cost of a fit."""
    storage = options.storage
    if source.kernels is None and storage != "auto":
        storage = _main_kernel_storage(storage, dictionary)
    settings = options.normalize, storage, options.max_bytes
    choice = choose_storage(dictionary, X, *settings, uses_all=source.uses_all)
    if storage != options.storage:
        return replace(choice, reason=BY_MAIN_KERNELS)
    if choice.name == "lazy" and storage == "auto" and find_memmap(X) is not None:
        # A table in a file has too many rows to compute kernels in every pass.
        in_files = LowRank(folder=tempfile.gettempdir())
        return replace(choice, storage=in_files, reason=f"{choice.reason}, in files")
    return choice


def resolve_storage(
    source: GramSource, dictionary: KernelDictionary, X: Array, options: GramOptions
) -> Choice:
    """Choose the storage; raise if it exceeds the memory, warn if the fit is slow."""
    if isinstance(X, SampledRows):
        return _partition_storage(source.owner, X, options.storage)
    choice, owner = storage_choice(source, dictionary, X, options), source.owner
    plural = "s" * (choice.n_kernels != 1)
    size = f"{choice.n_kernels} kernel{plural} on {X.shape[0]} samples"
    if choice.name in KNOWN_SIZES:
        subject = f"{owner}: the fit of {size} with storage {choice.name!r}"
        check_memory(subject, choice.n_bytes, options.max_bytes, MEMORY_ADVICE)
    if source.verbose:
        sys.stderr.write(f"{owner}: storage {choice.name!r}, as {choice.reason}\n")
    if choice.seconds > LONG:
        advice = f" {choice.advice}" if choice.advice else ""
        warn_user(
            f"{owner} fits {size} with storage {choice.name!r}, because "
            f"{choice.reason}. This may take {readable_seconds(choice.seconds)} and "
            f"{readable_bytes(choice.n_bytes)}.{advice} See the page 'Memory and "
            "storage' of the documentation for faster storages; verbose=1 shows "
            "progress.",
            LongFitWarning,
        )
    return choice


def _partition_storage(owner: str, rows: SampledRows, storage: Storage) -> Choice:
    """Return factored storage for rows in partitions; raise for other storages."""
    if not (isinstance(storage, LowRank) or storage in ("auto", "low_rank")):
        raise ValueError(
            f"{owner} stores the kernels of a Dask collection as factors: storage "
            f"must be 'auto', 'low_rank' or a LowRank, got {storage!r}."
        )
    reason = f"its samples are in {len(rows.blocks.parts)} partitions"
    low_rank = storage if isinstance(storage, LowRank) else LowRank()
    return Choice(low_rank, reason, n_kernels=0, n_bytes=0, seconds=0.0)


def penalty_factors(
    owner: str,
    penalties: Mapping[str, float] | Sequence[float] | Array,
    dictionary: KernelDictionary | None,
    samples: Samples,
) -> Array:
    """Return the factors 1 / w_m^2 of the kernels for their penalty weights w_m."""
    # The penalty w_m ||f_m|| is the norm of f_m in the space of K_m / w_m^2.
    n_kernels = samples.X.shape[2] if dictionary is None else len(dictionary)
    names = KernelNames(dictionary, n_kernels, names_of_grams(samples.table.given))
    weights = np.ones(names.n_kernels)
    if not isinstance(penalties, Mapping):
        if len(penalties) != names.n_kernels:
            raise ValueError(
                f"{owner}: penalty_weights has length {len(penalties)}, but must have "
                f"length {names.n_kernels}: pass one weight for each kernel, or a dict "
                "from names to weights."
            )
        return np.asarray(penalties, dtype=np.float64) ** -2.0
    views, kernels = np.array(names.views or ()), np.array(names.everything)
    # A weight for a kernel overrides the weight of its view.
    for groups in (views, kernels):
        for name, weight in penalties.items():
            if name in groups:
                weights[groups == name] = float(weight)
    unknown = [name for name in penalties if name not in views and name not in kernels]
    if unknown:
        all_names = dict.fromkeys([*views.tolist(), *kernels.tolist()])
        raise ValueError(
            f"{owner}: penalty_weights contains {shown(unknown[0])}, which is neither "
            "a kernel nor a view: use one of "
            f"{listed(list(all_names)[:8], len(all_names))}."
        )
    return weights**-2.0
