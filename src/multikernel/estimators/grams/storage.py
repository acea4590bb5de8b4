"""How a fit makes its Gram matrices, and how it holds them, said before it starts."""

import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from multikernel.estimators.read.samples import Samples
from multikernel.exceptions import (
    LongFitWarning,
)
from multikernel.gram import LowRank
from multikernel.gram.choice import LONG, choose_storage, readable_seconds
from multikernel.gram.factors.engine import SampledRows
from multikernel.gram.files import Storage
from multikernel.gram.memory import readable_bytes
from multikernel.gram.normalization import Steps
from multikernel.kernels import (
    KernelDictionary,
)
from multikernel.linalg.tables import backing


@dataclass(frozen=True)
class GramOptions:
    """How the Gram matrices of an estimator are made.

    Parameters
    ----------
    normalize : str, sequence of str, or None
        Steps, as in `build_stack`.
    storage : str, LowRank or MemoryMapped
        Storage, as in `build_stack`.
    max_bytes : int or None
        Limit on the bytes, as in `build_stack`.
    random_state : int, RandomState or None
        Draws the vectors that show whether matrices are symmetric.
    check_psd : {"active", "all", "none"}
        Which kernels of a fitted model are looked at, as in `check_definite`.
    tell : callable or None, default=None
        Called with the share of the kernels that has been built, where that is long.
    """

    normalize: Steps
    storage: Storage
    max_bytes: int | None
    random_state: Any = None
    check_psd: str = "active"
    tell: Callable[[float], None] | None = None

    def with_all_landmarks(self) -> "GramOptions":
        """Return options by which factors are at once as fine as they may be."""
        storage = LowRank() if self.storage == "low_rank" else self.storage
        if not isinstance(storage, LowRank):
            return self
        return replace(self, storage=replace(storage, first=storage.max_rank))


def settle_storage(
    owner: str,
    dictionary: KernelDictionary | None,
    samples: Samples,
    options: GramOptions,
    verbose: bool,
) -> tuple[GramOptions, dict[str, str]]:
    """Choose the storage, and say what is to be expected of it.

    Parameters
    ----------
    owner : str
        The estimator.
    dictionary : KernelDictionary or None
        From `choose_dictionary`; None for precomputed kernels.
    samples : Samples
        The training samples.
    options : GramOptions
        Normalisation, storage and limits.
    verbose : bool
        Whether the choice is written to standard error.

    Returns
    -------
    options : GramOptions
        With a storage other than "auto".
    attributes : dict
        ``storage_`` and ``storage_reason_``.

    Warns
    -----
    LongFitWarning
        If the fit may take minutes.
    """
    if dictionary is None:
        given = {"storage_": "precomputed", "storage_reason_": "matrices were given"}
        return options, given
    if isinstance(samples.X, SampledRows):
        return _in_blocks(owner, samples.X, options)
    choice = choose_storage(
        dictionary, samples.X, options.normalize, options.storage, options.max_bytes
    )
    if (
        choice.name == "lazy"
        and options.storage == "auto"
        and backing(samples.X) is not None
    ):
        # A table in a file has more rows than kernels can be computed anew for.
        there = LowRank(folder=tempfile.gettempdir())
        choice = replace(choice, storage=there, reason=f"{choice.reason}, in files")
    if verbose:
        sys.stderr.write(f"{owner}: storage {choice.name!r}, as {choice.reason}\n")
    if choice.seconds > LONG:
        warnings.warn(
            f"{owner} learns from {choice.n_kernels} kernels on {samples.X.shape[0]} "
            f"samples, with storage {choice.name!r}, as {choice.reason}: that may take "
            f"{readable_seconds(choice.seconds)} and {readable_bytes(choice.n_bytes)}. "
            'The page "Memory and storage" of the documentation says what is quicker '
            "when; verbose=1 shows progress.",
            LongFitWarning,
            stacklevel=5,
        )
    attributes = {"storage_": choice.name, "storage_reason_": choice.reason}
    return replace(options, storage=choice.storage), attributes


def _in_blocks(
    owner: str, rows: SampledRows, options: GramOptions
) -> tuple[GramOptions, dict[str, str]]:
    """Return the storage of rows that are in partitions: factors."""
    storage = options.storage
    if not (isinstance(storage, LowRank) or storage in ("auto", "low_rank")):
        raise ValueError(
            f"{owner} holds kernels of a collection of Dask as factors: storage must "
            f"be 'auto', 'low_rank' or a LowRank, got {storage!r}."
        )
    reason = f"its samples are in {len(rows.blocks.handles)} partitions"
    own = storage if isinstance(storage, LowRank) else LowRank()
    return replace(options, storage=own), {
        "storage_": "low_rank",
        "storage_reason_": reason,
    }
