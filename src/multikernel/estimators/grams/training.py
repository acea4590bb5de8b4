"""What a method on Gram matrices learns from, and what it makes a problem of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import check_combination
from multikernel.estimators.grams.grams import Grams
from multikernel.estimators.grams.useless import warn_degenerate
from multikernel.estimators.method import Fold
from multikernel.estimators.parameters import find_joint_loss
from multikernel.estimators.publish.attributes import Expansion
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.numbers import OF_A_FOLD, finite_predictions
from multikernel.estimators.read.samples import Samples, made_one
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.gram.definite import WITHOUT_PROOF, check_definite
from multikernel.losses import Loss, is_coupled, weighted
from multikernel.problem import Problem
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers import Solver

SEARCHED = 2**28
"""Entries of a stack up to which all its matrices are looked at once one of them has
been found to be no kernel: 2 GB, which the search reads in about 10 s."""

NOT_WITHOUT = "the solver met one, so that check_psd='none' is no way out."
"""Advice where it is no check that stands in the way."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Scales:
    """What turns the numbers of problems into those of their estimator.

    Parameters
    ----------
    objective_scale : float or ndarray of shape (n_problems,), default=1.0
        The factor of objectives: one over the total weight for a mean loss, C for a C
        in front of the sum.
    dual_scale : float or ndarray of shape (n_problems,), default=1.0
        The factor of dual points.
    numbers : mapping, default={}
        What parameters in units of the targets are as numbers, to be published.
    """

    objective_scale: float | Array = 1.0
    dual_scale: float | Array = 1.0
    numbers: Mapping[str, float | Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recipe(Scales):
    """The parts of a method: what `Problem` is made of, and what solves it.

    Parameters
    ----------
    losses : sequence of Loss
        The loss of one sample in each problem, without sample weights.
    penalties : sequence of BlockRegularizer
        The penalty of each problem, in the summed scale of `Problem`.
    solver : Solver
        The algorithm.
    objective_scale, dual_scale, numbers
        As in `Scales`.
    """

    losses: Sequence[Loss]
    penalties: Sequence[BlockRegularizer]
    solver: Solver


@dataclass(frozen=True, eq=False)
class Training:
    """Samples and their Gram matrices: all that a method learns from.

    Parameters
    ----------
    samples : Samples
        The samples.
    grams : Grams
        Their normalised Gram matrices.
    fit_intercept : bool
        Whether models have an intercept.
    owner : str, default=""
        What messages call the estimator.
    merges_copies : bool, default=True
        Whether copies among the samples of a part become one.
    stored : mapping, default={}
        Fitted attributes that say how matrices are held.
    """

    samples: Samples
    grams: Grams
    fit_intercept: bool
    owner: str = ""
    merges_copies: bool = True
    stored: Mapping[str, str] = field(default_factory=dict)

    @property
    def stack(self) -> GramStack:
        """Return the Gram matrices."""
        return self.grams.stack

    @property
    def names(self) -> KernelNames:
        """Return the names of all kernels."""
        return self.grams.names

    @property
    def n_bytes(self) -> float:
        """Return what the matrices take in memory."""
        return 8.0 * float(self.stack.held_numbers().sum())

    @property
    def precomputed(self) -> bool:
        """Return whether matrices were given in place of samples."""
        return self.grams.dictionary is None

    @cached_property
    def kernel_size(self) -> float:
        """Return the mean variance of the kernels in feature space; one of constants.

        An intercept takes what is constant.
        """
        weights = self.samples.weights
        shares = np.ones(self.stack.shape[1]) if weights is None else weights
        shares = shares / shares.sum()
        sizes = self.stack.diagonals() @ shares - self.stack.quadratic_forms(shares)
        size = float(sizes.mean())
        return size if size > 0.0 else 1.0

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Add a kernel's readable name to complaints about its matrix.

        Where matrices are held, all that are no kernels are searched for.
        """
        try:
            try:
                yield
            except IndefiniteKernelError as error:
                if error.kernel is None and self.stack.in_memory:
                    check_combination(self.stack, np.ones(self.stack.shape[0]))
                raise self._of_all(error) from error
        except IndefiniteKernelError as error:
            if error.kernel is None or (self.precomputed and not self.names.given):
                raise
            raise by_name(error, self.names(error.kernels)) from error

    def _of_all(self, error: IndefiniteKernelError) -> IndefiniteKernelError:
        """Return a complaint about all matrices that are no kernels, as one is none."""
        n_entries = np.prod(self.stack.shape, dtype=float)
        if not self.stack.in_memory or n_entries > SEARCHED:
            return error
        try:
            nowhere = np.empty(0, dtype=np.intp)
            check_definite(self.stack, self.grams.dictionary, nowhere, "all")
        except IndefiniteKernelError as every:
            if len(every.kernels) == 1:
                return error  # what was met says more of a single one
            if WITHOUT_PROOF in str(error):
                return every
            told = str(every).replace(WITHOUT_PROOF, NOT_WITHOUT)
            return IndefiniteKernelError(told, every.kernel, every.kernels)
        return error

    def part(self, chosen: Indices, n_copies: int = 1) -> tuple["Training", Indices]:
        """Return some of the samples with their normalised Gram matrices.

        Matrices of all must not be normalised yet.

        Parameters
        ----------
        chosen : ndarray of int
            The samples to take.
        n_copies : int, default=1
            How many parts are held at a time, where each needs a copy.

        Returns
        -------
        training : Training
        chosen : ndarray of int
            Those of the samples that are left.
        """
        if self.merges_copies:
            chosen, samples = made_one(self.samples, chosen)
        else:
            samples = self.samples.subset(chosen)
        grams = self.grams.part(chosen, samples.weights, n_copies)
        return replace(self, samples=samples, grams=grams), chosen

    def whole(self) -> "Training":
        """Return all samples with their normalised Gram matrices, as a fit has them.

        Where there are copies, matrices are computed anew, so that weights and copies
        give the same to the last digit.
        """
        everyone = np.arange(self.samples.rows.size)
        training, chosen = self.part(everyone)
        if chosen.size < everyone.size:
            grams = self.grams.anew(chosen, training.samples.weights)
            training = replace(training, grams=grams)
        warn_degenerate(self.owner, training.grams, stacklevel=6)
        return training

    def fold(self, train: Indices, test: Indices, n_copies: int) -> Fold["Training"]:
        """Return a fold, the same as if its training samples were fitted alone.

        Kernels that are held in memory were computed once, for all folds, of which
        `n_copies` are held at a time.
        """
        # Where folds need copies, so does the model on all samples, held already.
        training, train = self.part(train, n_copies + 1)
        # A part of a kernel's matrix is one: the model on all samples is checked.
        training = replace(training, grams=training.grams.unchecked())
        if self.precomputed:
            # Scorers see matrices that are cut to the fold on both axes.
            grams = replace(training.grams, rows=np.arange(train.size))
            training = replace(training, grams=grams)
        images = _images_outside(self, training, train, test)
        outside = self.samples.subset(test)
        return Fold(training, outside, partial(values_of, images, test.size))

    def problems(self, recipe: Recipe) -> list[Problem]:
        """Return the problems of a fit, all on one stack.

        One per output; one for all where they share a selection. What the solver of the
        recipe cannot treat raises an UnsupportedProblemError.
        """
        samples, losses = self.samples, recipe.losses
        targets = samples.targets
        if samples.shared and len(targets) > 1:
            targets = np.ascontiguousarray(targets.T)[None]
            joint = None if samples.several else find_joint_loss(losses[0])
            if joint is not None:
                losses, targets = [joint], (targets > 0.0).astype(np.float64)
        if is_coupled(losses[0]) and targets.ndim < 3:
            raise UnsupportedProblemError(
                f"{losses[0]!r} is a loss of three or more classes at once: it needs "
                "them, selection='shared', and one column of y."
            )
        problems = [
            Problem(
                self.stack,
                y,
                weighted(loss, samples.weights),
                penalty,
                self.fit_intercept,
            )
            for y, loss, penalty in zip(targets, losses, recipe.penalties, strict=True)
        ]
        reason = recipe.solver.unsupported(problems[0])
        if reason is not None:
            raise UnsupportedProblemError(reason)
        return problems


def by_name(error: IndefiniteKernelError, names: list[str]) -> IndefiniteKernelError:
    """Return a complaint about kernels that begins with their names."""
    text = f"{', '.join(names)}: {error}"
    return IndefiniteKernelError(text, error.kernel, error.kernels)


OUTSIDE_BYTES = 2**24
"""Kernels between the validation and the training samples of a fold are held up to so
many bytes: to cut them anew for each candidate took an eighth of a search among C and
p, 24 kernels on 400 samples."""

Images = Callable[[int, Array], Array]
"""From the number of a kernel, and coefficients over the training samples, to the
values of its function on validation samples, (n_test, n_outputs)."""


def _images_outside(
    whole: Training, training: Training, train: Indices, test: Indices
) -> Images:
    """Return what evaluates kernels of a fold on its validation samples."""
    normalization = training.grams.built.normalization
    stack = whole.stack
    if not stack.in_memory:
        return partial(training.grams.images, whole.grams.X[test])

    known: dict[int, Array] = {}

    def cut(m: int) -> Array:
        if m in known:
            return known[m]
        K, diagonal = stack.entries(m, test, train), stack.diagonals()[m].copy()
        normalization.apply(m, K, diagonal[test], diagonal[train])
        if (len(known) + 1) * K.nbytes <= OUTSIDE_BYTES:
            known[m] = K
        return K

    return lambda m, coefs: cut(m) @ coefs


@np.errstate(over="ignore", invalid="ignore")
def values_of(images: Images, n_test: int, models: Sequence[Expansion]) -> Array:
    """Return decision values of models on a fold, (n_models, n_test, n_outputs).

    Every kernel is read once for all of them.
    """
    f = np.repeat([[each.intercept] for each in models], n_test, axis=1)
    users: dict[int, list[tuple[int, int]]] = {}
    for model, expansion in enumerate(models):
        for position, kernel in enumerate(expansion.active.tolist()):
            users.setdefault(kernel, []).append((model, position))
    for kernel, places in users.items():
        coefs = [models[model].coefs[position] for model, position in places]
        values = images(kernel, np.concatenate(coefs, axis=1))
        # Not by indices of all: of one model that took longer than the product.
        for k, (model, _) in enumerate(places):
            f[model] += values[:, k * f.shape[2] : (k + 1) * f.shape[2]]
    finite_predictions(np.moveaxis(f, 1, 0), OF_A_FOLD)
    return f
