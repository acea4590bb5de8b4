"""The training Gram matrices of a fit, whatever ``kernels`` stands for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.publish.attributes import Expansion
from multikernel.estimators.publish.predict import (
    AdditiveModel,
    CrossGrams,
    KernelGrams,
    LandmarkGrams,
    PrecomputedGrams,
)
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.precomputed import precomputed_stack
from multikernel.estimators.read.samples import Samples
from multikernel.gram import (
    BuiltStack,
    GramStack,
    LowRank,
    build_part,
    build_stack,
    check_definite,
)
from multikernel.gram.factors.blocked_build import build_blocked
from multikernel.gram.factors.engine import SampledRows
from multikernel.gram.factors.file_engine import rows_for_files
from multikernel.gram.factors.growth import on_its_columns
from multikernel.gram.files import Storage
from multikernel.gram.normalization import Steps, check_steps
from multikernel.gram.steps import CenterStep
from multikernel.kernels import ColumnKernel, KernelDictionary
from multikernel.problem import Solution


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
    check_psd : {"auto", "active", "all", "none"}
        Which kernels of a fitted model are looked at, as in `check_definite`.
    tell : callable or None, default=None
        Called with the share of the kernels that has been built, where that is long.
    """

    normalize: Steps
    storage: Storage
    max_bytes: int | None
    random_state: Any = None
    check_psd: str = "auto"
    tell: Callable[[float], None] | None = None

    def with_all_landmarks(self) -> "GramOptions":
        """Return options by which factors are at once as fine as they may be."""
        storage = LowRank() if self.storage == "low_rank" else self.storage
        if not isinstance(storage, LowRank):
            return self
        return replace(self, storage=replace(storage, first=storage.max_rank))

    def for_parts(self) -> "GramOptions":
        """Return options of matrices that parts are cut from, and normalised then."""
        thin = isinstance(self.storage, LowRank) or self.storage == "low_rank"
        # Factors are those of divided kernels, which learn nothing from the samples.
        early = "cosine" if thin and "cosine" in check_steps(self.normalize) else None
        in_files = isinstance(self.storage, LowRank) and self.storage.folder is not None
        # Parts have files of their own, so that nothing has to be held for all.
        storage = "lazy" if in_files else self.storage
        return replace(self, normalize=early, storage=storage)


@dataclass(eq=False)
class Grams:
    """Training Gram matrices, and how to evaluate the same kernels elsewhere.

    Matrices may be refined, which replaces `built`: all that is learnt from them
    afterwards is over the finer ones.

    Parameters
    ----------
    built : BuiltStack
        The normalised stack on the training samples.
    X : ndarray of shape (n_samples, ...)
        The training samples.
    rows : ndarray of shape (n_samples,)
        Their positions among the columns of precomputed kernels at prediction.
    dictionary : KernelDictionary or None
        The kernels, their columns given by indices; None for precomputed ones.
    options : GramOptions
        How `built` was built.
    given_names : tuple of str or None, default=None
        What precomputed matrices are called, where they have names.
    """

    built: BuiltStack
    X: Array
    rows: Indices
    dictionary: KernelDictionary | None
    options: GramOptions
    given_names: tuple[str, ...] | None = None

    @property
    def stack(self) -> GramStack:
        """Return the stack."""
        return self.built.stack

    @property
    def names(self) -> KernelNames:
        """Return the names of all kernels."""
        return KernelNames(self.dictionary, self.stack.shape[0], self.given_names)

    def anew(self, chosen: Indices, weights: Array | None) -> "Grams":
        """Return the Gram matrices on some of the samples, computed without the others.

        `chosen` and `weights` are as in `part`, whose values may depend on the others
        in the last digit; these do not.
        """
        # A table in a file stays there where all of it is asked for.
        every = np.array_equal(chosen, np.arange(self.rows.size))
        X = self.X if every or self.dictionary is None else self.X[chosen]
        built = _build(self.dictionary, X, self.options, weights)
        return replace(self, built=built, X=X, rows=self.rows[chosen])

    def part(
        self, chosen: Indices, weights: Array | None, n_copies: int = 1
    ) -> "Grams":
        """Return the Gram matrices on some of the samples, as if fitted on them alone.

        Matrices in memory, which must not be normalised yet, are looked at without a
        copy where kernels are at most scaled; lazy ones are computed anew.

        Parameters
        ----------
        chosen : ndarray of shape (n_chosen,)
            The samples.
        weights : ndarray of shape (n_chosen,) or None
            Weights of the normalisation's statistics.
        n_copies : int, default=1
            How many parts are held at a time, where each needs a copy.

        Returns
        -------
        grams : Grams
            Its models take new samples as those of a fit do.
        """
        built = build_part(
            self.stack,
            chosen,
            normalize=self.options.normalize,
            sample_weight=weights,
            max_bytes=self.options.max_bytes,
            n_copies=n_copies,
        )
        if built is None:
            return self.anew(chosen, weights)
        X = self.X if self.dictionary is None else self.X[chosen]
        return replace(self, built=built, X=X, rows=self.rows[chosen])

    def refine(self, solutions: Sequence[Solution]) -> bool:
        """Bring the matrices nearer to their kernels where these keep a gap open.

        Returns whether `stack` is another one now; the solutions are on it as it was.
        """
        open_gaps = [s for s in solutions if s.refinement is not None]
        if not open_gaps:
            return False
        worst = max(open_gaps, key=lambda solution: solution.duality_gap).refinement
        assert worst is not None
        finer = self.stack.refine(worst, self.options.max_bytes)
        if finer is not None:
            self.built = replace(self.built, stack=finer)
        return finer is not None

    def check_active(self, active: Indices, weights: Array) -> str:
        """Raise if a kernel of a model is no kernel, as the options ask for.

        Parameters
        ----------
        active : ndarray of shape (n_active,)
            The kernels of the model.
        weights : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
            Of the sums that it uses.

        Returns
        -------
        checked : str
            What they are known to be kernels by, the ``psd_checked_`` of a fit.
        """
        how = self.options.check_psd
        return check_definite(self.stack, self.dictionary, active, how, weights)

    def unchecked(self) -> "Grams":
        """Return the same matrices, whose whole is checked elsewhere."""
        return replace(self, options=replace(self.options, check_psd="none"))

    def model(self, expansion: Expansion) -> AdditiveModel:
        """Return a model that predicts, with no more training data than it needs."""
        if self.stack.landmarks is None:
            used = np.flatnonzero(expansion.coefs.any(axis=(0, 2)))
            grams, kept = self.cross(expansion.active, used)
            return AdditiveModel(grams, expansion.coefs[:, kept], expansion.intercept)
        places = zip(expansion.active.tolist(), expansion.coefs, strict=True)
        own = [self.over_landmarks(m, coefs) for m, coefs in places]
        widest = max((len(coefs) for coefs in own), default=0)
        coefs = np.zeros((len(own), widest, expansion.intercept.size))
        for position, values in enumerate(own):
            coefs[position, : len(values)] = values
        return AdditiveModel(
            self.landmark_grams(expansion.active), coefs, expansion.intercept
        )

    def over_landmarks(self, m: int, coefs: Array) -> Array:
        """Return the coefficients of a function of kernel m for `landmark_grams`.

        Those over the training samples, (n_samples, n_outputs), become (rank[ + 1],
        n_outputs): the last row is a constant, where kernels are centred.
        """
        landmarks, stack = self.stack.landmarks, self.stack
        assert landmarks is not None
        values, constant = landmarks.coefficients(stack, m, coefs)
        return np.vstack([values, constant]) if landmarks.centred else values

    def landmark_grams(self, active: Indices) -> LandmarkGrams:
        """Return kernels between new samples and their landmarks, and no others.

        `active` are the kernels, shape (n_active,).
        """
        landmarks = self.stack.landmarks
        assert landmarks is not None
        kernels, columns, samples = [], [], []
        for m in active.tolist():
            kernel = landmarks.dictionary[m]
            chosen = landmarks.X[landmarks.chosen[m]]
            inner, own = on_its_columns(kernel, chosen)
            kernels.append(inner)
            columns.append(kernel.columns if type(kernel) is ColumnKernel else None)
            samples.append(own)
        return LandmarkGrams(
            tuple(kernels),
            tuple(columns),
            tuple(samples),
            landmarks.widths(self.stack, active),
            landmarks.cosine,
            landmarks.centred,
            landmarks.scales[active],
        )

    def images(self, X: Array, m: int, coefs: Array) -> Array:
        """Return kernel m between new and training samples, times coefficients.

        Those of (n_samples, n_outputs) become values of (n_new, n_outputs).
        """
        one = np.array([m])
        if self.stack.landmarks is not None:
            grams: CrossGrams = self.landmark_grams(one)
            coefs = self.over_landmarks(m, coefs)
        else:
            grams, kept = self.cross(one, np.arange(self.rows.size))
            coefs = coefs[kept]
        return grams(X, 0) @ coefs

    def cross(self, active: Indices, used: Indices) -> tuple[CrossGrams, Indices]:
        """Return kernels between new samples and those that a model must keep.

        Parameters
        ----------
        active, used : ndarray of int
            The kernels, and the training samples that have coefficients.

        Returns
        -------
        grams : CrossGrams
            The kernels, in the order of `active`.
        kept : ndarray of int
            The training samples that their columns belong to.
        """
        kept = used
        steps = self.built.normalization.steps
        if any(isinstance(step, CenterStep) for step in steps):
            # A new sample is centred by its similarity to every training sample.
            kept = np.arange(self.rows.size)
        normalization = self.built.normalization.take(active)
        if self.dictionary is None:
            return PrecomputedGrams(active, self.rows[kept], normalization), kept
        kernels = tuple(self.dictionary[int(m)] for m in active)
        return KernelGrams(kernels, self.X[kept], normalization), kept


def build_grams(
    dictionary: KernelDictionary | None,
    samples: Samples,
    options: GramOptions,
    *,
    parts: bool = False,
) -> Grams:
    """Compute the training Gram matrices of an estimator.

    Parameters
    ----------
    dictionary : KernelDictionary or None
        From `choose_dictionary`; None for precomputed kernels.
    samples : Samples
        The training samples; their weights are those of the statistics that
        normalisation learns.
    options : GramOptions
        Normalisation, storage and limits.
    parts : bool, default=False
        Whether parts are to be cut, which `Grams.part` normalises: not the whole.
    """
    how = options.for_parts() if parts else options
    built = _build(dictionary, samples.X, how, samples.weights)
    names = samples.table.gram_names
    return Grams(built, samples.X, samples.rows, dictionary, options, names)


def _build(
    dictionary: KernelDictionary | None,
    X: Array,
    options: GramOptions,
    weights: Array | None,
) -> BuiltStack:
    if dictionary is None:
        return precomputed_stack(
            X,
            weights,
            options.normalize,
            options.storage,
            options.max_bytes,
            options.random_state,
        )
    thin = options.storage if isinstance(options.storage, LowRank) else None
    rows: SampledRows | None = X if isinstance(X, SampledRows) else None
    if rows is None and thin is not None and thin.folder is not None:
        rows = rows_for_files(X, thin, options.tell)
    if rows is not None:
        return build_blocked(
            dictionary,
            rows,
            normalize=options.normalize,
            sample_weight=weights,
            options=thin,
            max_bytes=options.max_bytes,
        )
    return build_stack(
        dictionary,
        X,
        normalize=options.normalize,
        sample_weight=weights,
        storage=options.storage,
        max_bytes=options.max_bytes,
    )
