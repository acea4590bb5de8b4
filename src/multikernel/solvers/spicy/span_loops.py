"""Compiled loops of `spans`, which solve the small problem of each target in turn."""

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.linalg.jit import loop, part

FAST = {"reassoc", "contract"}

BOLD = 12
"""Number of steps after which steps aim at alpha itself, and are shortened until the
objective decreases. This helps if kernels enter and leave a model again and again."""


@loop(error_model="numpy", fastmath=FAST)
def solve_small_problems(  # noqa: PLR0913 - compiled code takes arrays, not objects
    targets: Indices,
    alphas: Array,
    sizes: Indices,
    grams: Array,
    sides: Array,
    eta: Array,
    coefs: Array,
    settled: Mask,
    stride: float,
    nearly: float,
    ridge: float,
    most: int,
) -> None:
    """Maximize each target's dual value over the span of a few vectors."""
    # The coefficients c of the vectors maximize s^T c - |c|^2 / 2 subject to c^T G_m c
    # <= alpha^2 for every kernel m (see module `spans`), where s is a row of `sides`
    # and G_m an item of `grams`. With the kernel weights eta, c is
    # (I + sum_m eta_m G_m)^-1 s. The results are written into `eta`, `coefs` and
    # `settled`. `most` is the maximum number of Newton steps; if it is zero, `eta` is
    # kept, and only `coefs` is computed for these weights. `stride`, `nearly` and
    # `ridge` are fields of `SETTINGS`.
    # `sizes` are the numbers of basis vectors of all targets' spaces. `grams`,
    # (n_targets, n_kernels, n_vectors, n_vectors), are products of these vectors with
    # the kernels, and `sides` with the targets. Three arrays have one entry or row for
    # each chosen target: `alphas` has the strengths, `eta` the weights, (n_chosen,
    # n_kernels), and `settled` says whether the problem is solved.
    for number in range(targets.size):
        t = targets[number]
        k = sizes[t]
        settled[number] = _solve_one_target(
            alphas[number],
            grams[t, :, :k, :k],
            sides[t, :k],
            eta[number],
            coefs[t, :k],
            stride,
            nearly,
            ridge,
            most,
        )


@part(error_model="numpy", fastmath=FAST)
def _solve_one_target(  # noqa: PLR0913 - compiled code takes arrays, not objects
    alpha: float,
    grams: Array,
    side: Array,
    eta: Array,
    c: Array,
    stride: float,
    nearly: float,
    ridge: float,
    most: int,
) -> bool:
    """Solve one target's small problem by Newton steps; return True if it is solved."""
    # The results are written into `eta` and `c`, the coefficients of the target's
    # vectors. The other arguments are those of `solve_small_problems`, for one target.
    # `system` is the Cholesky factor L of I + sum_m eta_m G_m; `images` are G_m c, `q`
    # is c^T G_m c, and `halves` are L^-1 G_m c.
    n_kernels, k = grams.shape[0], side.size
    system = np.empty((k, k))
    images, halves = np.empty((n_kernels, k)), np.empty((n_kernels, k))
    q, pull, before = np.empty(n_kernels), np.empty(n_kernels), np.empty(n_kernels)
    kernels, moves = np.empty(n_kernels, np.intp), np.empty(n_kernels, np.bool_)
    # The first `BOLD` steps are the steps of module `newton`. Then Newton's method
    # minimizes `objective`: `pull` is then (q - alpha^2) / 2, minus the
    # derivative by eta, and a step that raises the objective is halved.
    ones, lowest = np.ones(n_kernels), np.inf
    for round_ in range(most + 1):
        if not _write_coefs(grams, side, eta, system, c):
            return False
        if most == 0:
            return True
        objective = 0.5 * (_inner(side, c) + alpha**2 * _inner(eta, ones))
        if round_ > BOLD and objective > lowest * (1.0 + 1e-12):
            for m in range(n_kernels):
                eta[m] = 0.5 * (eta[m] + before[m])
            continue
        lowest = objective
        largest = _write_forms(grams, c, images, q)
        is_bold = round_ < BOLD
        level = max(alpha, stride * np.sqrt(largest)) if is_bold else alpha
        if level == alpha and _violation(q, eta, alpha) <= 1e-10:
            return True
        for m in range(n_kernels):
            before[m] = eta[m]
            size = q[m] if is_bold else 0.5 * alpha * (np.sqrt(q[m]) + alpha)
            pull[m] = size * (np.sqrt(q[m]) / level - 1.0)
            moves[m] = eta[m] > 0.0 or q[m] > (nearly * level) ** 2
        n_chosen = _write_places(moves, kernels)
        for number in range(n_chosen):
            _write_half(system, images[kernels[number]], halves[number])
        if not _step(halves, pull, ridge, kernels[:n_chosen], eta):
            return False
    return False


@part(error_model="numpy", fastmath=FAST)
def _write_coefs(
    grams: Array, side: Array, eta: Array, system: Array, c: Array
) -> bool:
    """Write the Cholesky factor and the coefficients; return whether that worked."""
    k = c.size
    for i in range(k):
        for j in range(k):
            system[i, j] = 1.0 if i == j else 0.0
        c[i] = side[i]
    for m in range(eta.size):
        if eta[m] > 0.0:
            for i in range(k):
                for j in range(k):
                    system[i, j] += eta[m] * grams[m, i, j]
    if not _factorize(system):
        return False
    _solve_lower(system, c)
    _solve_upper(system, c)
    return True


@part(error_model="numpy", fastmath=FAST)
def _write_forms(grams: Array, c: Array, images: Array, q: Array) -> float:
    """Write the images K_m c and the forms c^T K_m c; return the largest form."""
    largest = 0.0
    for m in range(q.size):
        q[m] = 0.0
        for i in range(c.size):
            total = 0.0
            for j in range(c.size):
                total += grams[m, i, j] * c[j]
            images[m, i] = total
            q[m] += total * c[i]
        q[m] = max(q[m], 0.0)
        largest = max(largest, q[m])
    return largest


@part(error_model="numpy", fastmath=FAST)
def _violation(q: Array, eta: Array, alpha: float) -> float:
    """Return the violation of the optimality conditions on q, relative to alpha."""
    # At the optimum (see module `newton`), the dual norm sqrt(q_m) is alpha if eta_m is
    # positive, and at most alpha if eta_m is zero.
    worst = 0.0
    for m in range(q.size):
        excess = np.sqrt(q[m]) / alpha - 1.0
        worst = max(worst, abs(excess) if eta[m] > 0.0 else excess)
    return worst


@part(error_model="numpy", fastmath=FAST)
def _step(
    halves: Array, pull: Array, ridge: float, kernels: Indices, eta: Array
) -> bool:
    """Set the weights of `kernels` by one Newton step; return whether that worked."""
    # As in `solvers.spicy.newton`, the new weights are the x >= 0 that minimizes
    # d^T H d / 2 - pull^T d for d = x - eta, or x^T H x / 2 - aims^T x with aims = pull
    # + H eta. H is halves halves^T plus a ridge against rounding.
    n = kernels.size
    H, aims, x = np.empty((n, n)), np.empty(n), np.empty(n)
    for i in range(n):
        for j in range(i + 1):
            H[i, j] = H[j, i] = _inner(halves[i], halves[j])
    size = 0.0
    for i in range(n):
        size = max(size, H[i, i])
    if size <= 0.0:
        return False
    for i in range(n):
        m = kernels[i]
        H[i, i] += ridge * size
        x[i] = eta[m]
        aims[i] = pull[m]
    for i in range(n):
        aims[i] += _inner(H[i], x)
    if not _least_nonnegative(H, aims, x):
        return False
    for i in range(n):
        eta[kernels[i]] = x[i]
    return True


@part(error_model="numpy", fastmath=FAST)
def _least_nonnegative(H: Array, aims: Array, x: Array) -> bool:
    """Set x to the minimizer of x^T H x / 2 - aims^T x over x >= 0; return success."""
    # This is the algorithm of Lawson and Hanson.
    n = aims.size
    free, unit = np.empty(n, np.bool_), 0.0
    for i in range(n):
        free[i] = x[i] > 0.0
        unit = max(unit, abs(aims[i]))
    for _ in range(3 * n + 3):
        if not _free_minimum(H, aims, x, free):
            return False
        best, most = -1, 1e-12 * unit
        for i in range(n):
            slope = 0.0 if free[i] else aims[i] - _inner(H[i], x)
            if slope > most:
                best, most = i, slope
        if best < 0:
            return True
        free[best] = True
    return False


@part(error_model="numpy", fastmath=FAST)
def _free_minimum(H: Array, aims: Array, x: Array, free: Mask) -> bool:
    """Minimize x^T H x / 2 - aims^T x over the free entries of x; return success."""
    # Entries that reach zero are no longer free.
    used = np.empty(x.size, np.intp)
    for _ in range(x.size + 1):
        n = _write_places(free, used)
        system, s = np.empty((n, n)), np.empty(n)
        for i in range(n):
            s[i] = aims[used[i]]
            for j in range(n):
                system[i, j] = H[used[i], used[j]]
        if not _factorize(system):
            return False
        _solve_lower(system, s)
        _solve_upper(system, s)
        share = 1.0
        for i in range(n):
            if s[i] <= 0.0:
                share = min(share, x[used[i]] / (x[used[i]] - s[i]))
        for i in range(n):
            j = used[i]
            moved = x[j] + share * (s[i] - x[j])
            if s[i] <= 0.0 and (moved <= 1e-15 * x[j] or share == 0.0):
                moved = 0.0
            x[j] = max(moved, 0.0)
            free[j] = x[j] > 0.0 or s[i] > 0.0
        if share == 1.0:
            return True
    return False


@part(error_model="numpy", fastmath=FAST)
def _write_places(mask: Mask, places: Indices) -> int:
    """Write the indices at which the mask is true; return their number."""
    n = 0
    for i in range(mask.size):
        if mask[i]:
            places[n] = i
            n += 1
    return n


@part(error_model="numpy", fastmath=FAST)
def _inner(x: Array, y: Array) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@part(error_model="numpy", fastmath=FAST)
def _factorize(system: Array) -> bool:
    """Write the lower Cholesky factor in place; return False if a pivot is <= 0."""
    n = len(system)
    for i in range(n):
        for j in range(i + 1):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if j < i:
                system[i, j] = total / system[j, j]
            elif total > 0.0:
                system[i, i] = np.sqrt(total)
            else:
                return False
    return True


@part(error_model="numpy", fastmath=FAST)
def _solve_lower(factor: Array, x: Array) -> None:
    """Replace x by the solution s of factor s = x, for a lower triangular factor."""
    for i in range(x.size):
        total = x[i]
        for j in range(i):
            total -= factor[i, j] * x[j]
        x[i] = total / factor[i, i]


@part(error_model="numpy", fastmath=FAST)
def _write_half(factor: Array, side: Array, x: Array) -> None:
    """Write into x the solution of factor x = side, for a lower triangular factor."""
    for i in range(x.size):
        x[i] = side[i]
    _solve_lower(factor, x)


@part(error_model="numpy", fastmath=FAST)
def _solve_upper(factor: Array, x: Array) -> None:
    """Replace x by the solution s of factor^T s = x, for a lower triangular factor."""
    for i in range(x.size - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= factor[i, j] * x[i]
