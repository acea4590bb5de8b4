"""Factors of kernels in blocks of rows, with landmarks chosen from a sample of rows.

One pass computes the factors of all rows and the diagonals of the residuals (kernels
minus their low-rank approximations), so certificates are as strong as those for factors
in memory. Refinement adds rows with large residuals to the sample.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.factors.blocked import BlockedStack
from multikernel.gram.factors.factor_blocks import traces_and_roots
from multikernel.gram.factors.factorize import check_order
from multikernel.gram.factors.growth import Factor, Goal, grow, rounding_error_share
from multikernel.gram.factors.landmarks import KernelLandmarks, Landmarks, LowRank
from multikernel.gram.factors.row_blocks import RowBlocks, SampledRows
from multikernel.gram.factors.rows import (
    KernelPlan,
    Scaling,
    factor_plan,
    largest_residuals,
    moments,
    normalized,
    offsets_of,
    raw_block,
)
from multikernel.gram.memory import check_memory
from multikernel.gram.normalization import (
    BuiltStack,
    GivenScales,
    Normalization,
    Steps,
    check_steps,
    empty_normalization,
)
from multikernel.gram.refine import refined
from multikernel.gram.steps import Moments
from multikernel.kernels.base import KernelDictionary
from multikernel.linalg.tables import equal_shares, row_keys, row_norms
from multikernel.linalg.tall import slices_between
from multikernel.linalg.threads import run_blocks

# Few rows are added at a time, because a landmark also lowers the residuals of the rows
# near it.
JOINING = 16
"""Maximum number of rows that one kernel adds to the sample in a refinement."""


@dataclass(frozen=True, eq=False)
class BlockedLandmarks(Landmarks):
    """Landmarks that were chosen from a sample, and the data to choose more."""

    blocks: RowBlocks = field(kw_only=True)  # all rows of the table
    factors: tuple[Factor, ...] = ()  # at the sampled rows, not normalized
    row_weights: tuple[Array, ...] = ()  # weights of all rows, by block; the sum is one


@dataclass(eq=False)
class LandmarkSearch:
    """A search for landmarks of all kernels, with the factors as they are so far."""

    # `landmarks.X` is the sample of rows from which landmarks are chosen, and
    # `landmarks.blocks` has all rows of the table.
    landmarks: BlockedLandmarks
    max_bytes: int | None  # limit on the bytes of all factors
    factors: list[Factor] = field(default_factory=list)  # at the sampled rows

    @property
    def all_kernels(self) -> list[int]:
        """Return the indices of all kernels."""
        return list(range(len(self.landmarks.dictionary)))

    def choose_from_sample(self) -> None:
        """Choose each kernel's landmarks; store its factor at the sampled rows."""
        # `Landmarks.factor` adds landmarks until the factor meets the goal.
        factors: dict[int, Factor] = {}

        def make(m: int) -> None:
            factors[m] = self.landmarks.factor(m, self.landmarks.options.goal)

        run_blocks(make, self.all_kernels)
        self.factors = [factors[m] for m in self.all_kernels]

    def plans(self, kernels: Sequence[int]) -> dict[int, KernelPlan]:
        """Return the plans that compute the factors of some kernels at any rows."""
        return {m: factor_plan(self.landmarks, m, self.factors[m]) for m in kernels}

    def compute_factors(self, kernels: Sequence[int]) -> RowBlocks:
        """Return blocks of factors of some kernels, not normalized."""
        self._check_memory()
        weights, plans = self.landmarks.row_weights, self.plans(kernels)
        raw = self.landmarks.blocks.apply(raw_block, weights, plans=plans)
        # If factors are in files, unnormalized blocks are not stored: computing them
        # again for every use takes less time than writing them.
        return raw if raw.folder is not None else raw.persist()

    @property
    def _ranks(self) -> Indices:
        """Return the number of columns of every factor; a zero kernel has one."""
        return np.array([max(len(factor.rows), 1) for factor in self.factors])

    def rows_with_largest_residuals(
        self, raw: RowBlocks, kernels: Sequence[int], sizes: Sequence[Array]
    ) -> Array:
        """Return the rows at which residuals of `kernels` times `sizes` are largest."""
        # The result contains the values of these rows of the table, each row once. Each
        # kernel adds at most `JOINING` rows. `raw` are blocks of unnormalized factors
        # of `kernels`; sizes[b] has one number for each row of block b.
        pairs = self.landmarks.blocks.map(
            largest_residuals, raw.parts, sizes, kernels=kernels, n_rows=JOINING
        )
        rows = np.concatenate([rows for rows, _ in pairs])
        owners, residual = np.concatenate([residual for _, residual in pairs]).T
        order = np.argsort(-residual, kind="stable")
        chosen = [order[owners[order] == m][:JOINING] for m in kernels]
        return np.unique(rows[np.concatenate(chosen)], axis=0)

    def add_rows(self, rows: Array, goals: Mapping[int, float]) -> None:
        """Add rows to the sample, and landmarks to kernels until they meet `goals`."""
        # goals[m] limits the mean, over the sample, of the square roots of the
        # diagonal of kernel m's residual. Kernels without a goal get no landmarks.
        old = self.landmarks
        X = np.concatenate([old.X, rows])
        shares = np.full(X.shape[0], 1.0 / X.shape[0])
        self.landmarks = replace(old, X=X, rows=np.arange(X.shape[0]), weights=shares)
        # Extend the factors one after the other, so that only one is in memory twice.
        for m, factor in enumerate(self.factors):
            plan = factor_plan(old, m, factor)
            self.factors[m] = _extended_factor(plan, factor, rows)

        def work(m: int) -> None:
            factor = self.factors[m]
            # Each refinement enlarges the rank by at least half, so few are needed.
            min_rank = factor.rows.shape[0] * 3 // 2
            goal = Goal(old.options.max_rank, goals[m], shares, min_rank)
            self.factors[m] = grow(self.landmarks.columns(m), factor, shares, goal)

        run_blocks(work, goals)

    def _check_memory(self) -> None:
        size = np.dtype(self.landmarks.options.dtype).itemsize
        blocks = self.landmarks.blocks
        needed = size * int(offsets_of(self._ranks)[-1]) * blocks.n_rows
        available = blocks.available_bytes
        limit = available() if self.max_bytes is None else self.max_bytes
        check_memory(
            f"The factors of {len(self.factors)} kernels on {blocks.n_rows} samples",
            needed,
            limit,
            "Use fewer kernels, a smaller rank (storage=LowRank(max_rank=...)), files "
            "(LowRank(folder=...)), more workers, or raise max_bytes.",
        )

    def fit_scalings(
        self, raw: RowBlocks, normalization: Normalization
    ) -> list[Scaling]:
        """Fit the normalization to the `moments` of `raw`; return the scalings."""
        sizes, mean = raw.sum(moments)
        scalings = []
        means = np.split(mean, offsets_of(self._ranks)[1:-1])
        for m, (size, mean_of_kernel) in enumerate(zip(sizes, means, strict=True)):
            no_rows = np.empty((mean_of_kernel.size, 0))
            kernel_moments = Moments(no_rows, mean_of_kernel, float(size))
            normalization.learn_moments(m, kernel_moments)
            scalings.append(Scaling(kernel_moments.scale, kernel_moments.shift))
        return scalings

    def update_scalings(self, raw: RowBlocks, kernels: Sequence[int]) -> list[Scaling]:
        """Return the scalings of a stack in which some kernels have new factors."""
        scalings = [Scaling(old.scale, old.shift) for old in self.landmarks.kernels]
        _, mean = raw.sum(moments)
        means = np.split(mean, np.cumsum(self._ranks[kernels])[:-1])
        for m, mean_of_kernel in zip(kernels, means, strict=True):
            shift = None if scalings[m].shift is None else mean_of_kernel
            scalings[m] = Scaling(scalings[m].scale, shift)
        return scalings

    def normalize(
        self,
        raw: RowBlocks,
        scalings: Sequence[Scaling],
        old_stack: BlockedStack | None = None,
        report: Callable[[float], None] | None = None,
    ) -> RowBlocks:
        """Return blocks of all kernels' normalized factors, new and old ones."""
        # `raw` has the new factors, which are not normalized yet. Kernels without a new
        # factor keep their factor in `old_stack`, which is None if `raw` has all
        # kernels. `report` is called with the share of the blocks that are computed.
        offsets, n_blocks = offsets_of(self._ranks), len(raw.parts)
        file_arrays: Sequence[Array | None] = [None] * n_blocks
        if raw.folder is not None:
            n_file_rows = int(offsets[-1]) + len(scalings)
            shape, dtype = (n_file_rows * raw.n_rows,), self.landmarks.options.dtype
            arrays = raw.folder.scratch(shape, dtype)
            file_arrays = np.split(arrays, n_file_rows * raw.ends[1:-1])
        old_parts = []
        if old_stack is not None:
            old_parts = slices_between(offsets_of(old_stack.ranks))
        return raw.apply(
            normalized,
            file_arrays,
            [None] * n_blocks if old_stack is None else old_stack.blocks.parts,
            scalings=scalings,
            parts=slices_between(offsets),
            old_parts=old_parts,
        ).persist(report)

    def assemble(
        self, blocks: RowBlocks, scalings: Sequence[Scaling]
    ) -> tuple[BlockedStack, Indices]:
        """Return the stack of normalized blocks, and the indices of zero kernels."""
        offsets, weights = offsets_of(self._ranks), self.landmarks.row_weights
        parts = slices_between(offsets)
        traces, roots, has_roots = blocks.sum(traces_and_roots, weights, parts=parts)
        is_centered = np.array([scaling.shift is not None for scaling in scalings])
        plans = self.plans(self.all_kernels)
        kernels = tuple(
            KernelLandmarks(factor.landmarks, plans[m].triangle, s.scale, s.shift)
            for m, (factor, s) in enumerate(zip(self.factors, scalings, strict=True))
        )
        factors = tuple(self.factors)
        landmarks = replace(self.landmarks, factors=factors, kernels=kernels)
        means = is_centered * roots if has_roots.any() else None
        stack = BlockedStack(blocks, offsets, traces, means, landmarks=landmarks)
        return stack, np.flatnonzero((traces == 0.0) & (roots == 0.0))


def _extended_factor(plan: KernelPlan, factor: Factor, rows: Array) -> Factor:
    """Return the factor of a sample, extended by `plan` to the new samples `rows`."""
    # For a kernel without landmarks, `plan` returns one row of zeros: omit this row.
    block = plan(rows, np.ones(rows.shape[0]))
    columns = block.rows[: factor.rows.shape[0]]
    squares = np.einsum("ri,ri->i", columns, columns)
    residual = np.zeros(rows.shape[0])
    if block.bound is not None:
        # The bound is the residual plus `unit` times the diagonal, an allowance for
        # rounding. Subtract the allowance, because a landmark would not reduce it.
        unit = rounding_error_share(plan.rank)
        residual = np.maximum(block.bound - unit * squares, 0.0) / (1.0 + unit)
    return Factor(
        np.concatenate([factor.rows, columns], axis=1),
        np.concatenate([factor.residual, residual]),
        factor.landmarks,
        np.concatenate([factor.diagonal, squares + residual]),
    )


def build_blocked(
    dictionary: KernelDictionary,
    rows: SampledRows,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    options: LowRank | None = None,
    max_bytes: int | None = None,
) -> BuiltStack:
    """Factorize and normalize every kernel of a dictionary, in blocks of rows."""
    # `max_bytes` limits the bytes of the factors, in memory or in files.
    steps = check_steps(normalize)
    check_order(steps)
    _check_moments(steps)
    n_rows, n_sampled = rows.blocks.n_rows, rows.sample.shape[0]
    weights = equal_shares(n_rows, sample_weight)
    search = LandmarkSearch(
        BlockedLandmarks(
            dictionary,
            rows.sample[np.argsort(row_keys(rows.sample), kind="stable")],
            np.arange(n_sampled),
            np.full(n_sampled, 1.0 / n_sampled),
            "cosine" in steps,
            LowRank() if options is None else options,
            blocks=rows.blocks,
            row_weights=tuple(rows.blocks.split(weights)),
        ),
        max_bytes,
    )
    search.choose_from_sample()
    raw = search.compute_factors(search.all_kernels)
    # Normalization needs only weighted sums over the rows, no pass over matrices.
    normalization = empty_normalization(steps, len(dictionary), 0)
    scalings = search.fit_scalings(raw, normalization)
    blocks = search.normalize(raw, scalings, report=rows.tell)
    # Free each block of unnormalized factors as soon as it is normalized.
    del raw
    stack, zero = search.assemble(blocks, scalings)
    return BuiltStack(stack, normalization, zero)


def refine_blocked(
    stack: BlockedStack, v: Array, goals: Mapping[int, float], max_bytes: int | None
) -> BlockedStack:
    """Return a stack with more landmarks for the kernels whose residuals have goals."""
    landmarks = stack.landmarks
    assert landmarks is not None
    # goals[m] limits the bound on v^T E_m v, with the residual E_m of kernel m and the
    # dual point v. The number of landmarks grows by at least half, up to max_rank, but
    # a bound may still exceed its goal. The scales of the kernels do not change.
    # Factors from landmarks have one column per landmark, none if the kernel is zero on
    # the sampled rows. Factors from features have no landmarks and no residual.
    kernels = [
        m
        for m in sorted(goals)
        if len(landmarks.factors[m].rows) == landmarks.factors[m].landmarks.size
    ]
    if not kernels:
        return stack
    search = LandmarkSearch(landmarks, max_bytes, list(landmarks.factors))
    sizes = row_norms(v)
    # Compute residuals again: blocks store residuals of normalized kernels only. No
    # name refers to these factors, so they are freed before the new ones are computed.
    rows = search.rows_with_largest_residuals(
        search.compute_factors(kernels), kernels, landmarks.blocks.split(sizes**2)
    )
    # The bound is the square of sum_i sizes[i] sqrt(scales[m] e_i), for the diagonal e
    # of the residual before scaling. It is at most goals[m] if the mean of sqrt(e_i),
    # weighted by `sizes`, is at most mean_goals[m]. `add_rows` uses the mean on the
    # sample instead.
    total, scales = float(sizes.sum()), landmarks.scales
    mean_goals = {m: float(np.sqrt(goals[m] / scales[m])) / total for m in kernels}
    search.add_rows(rows, mean_goals)
    raw = search.compute_factors(kernels)
    scalings = search.update_scalings(raw, kernels)
    blocks = search.normalize(raw, scalings, stack)
    return search.assemble(blocks, scalings)[0]


refined.register(
    BlockedStack, lambda stack, *options: stack.refined_by(refine_blocked, *options)
)


def _check_moments(steps: Sequence[object]) -> None:
    """Raise if a normalization step needs more than `moments`, such as eigenvalues."""
    # Eigenvalues are not computed if the rows of factors are in blocks.
    for step in steps:
        if not isinstance(step, str | GivenScales):
            raise ValueError(
                f"normalize={step!r} requires eigenvalues, which are not computed for "
                "rows in blocks (a Dask collection, or LowRank with a folder): pass "
                "'variance', 'trace', 'center' or 'cosine'."
            )
