"""Sequence kernels by their definitions, as slowly and plainly as can be."""

from collections import Counter
from itertools import product
from math import exp, log, sqrt


def words(x, k):
    return [x[i : i + k] for i in range(len(x) - k + 1)]


def known(word, letters):
    return all(letter in letters for letter in word)


def spectrum(x, y, k, letters):
    left = Counter(u for u in words(x, k) if known(u, letters))
    right = Counter(u for u in words(y, k) if known(u, letters))
    return sum(left[u] * right[u] for u in left)


def weighted_degree(x, y, degree, shift, letters):
    total = 0.0
    for d in range(1, degree + 1):
        beta = 2 * (degree - d + 1) / (degree * (degree + 1))
        left, right = words(x, d), words(y, d)
        for s in range(shift + 1):
            delta = 1 / (2 * (s + 1))
            for place in range(max(len(left), len(right))):
                pairs = ((place + s, place), (place, place + s))
                total += (
                    beta
                    * delta
                    * sum(
                        i < len(left)
                        and j < len(right)
                        and left[i] == right[j]
                        and known(left[i], letters)
                        for i, j in pairs
                    )
                )
    return total


def histogram(x, pattern, letters):
    chosen = [p for p, mark in enumerate(pattern) if mark == "x"]
    found = []
    for start in range(len(x) - len(pattern) + 1):
        motif = "".join(x[start + p] for p in chosen)
        if known(motif, letters):
            found.append(motif)
    return {u: n / len(found) for u, n in Counter(found).items()}


def entropy(p):
    return -sum(v * log(v) for v in p.values() if v > 0)


def motif(x, y, pattern, compare_by, sigma, letters):
    p, q = histogram(x, pattern, letters), histogram(y, pattern, letters)
    every = {*p, *q}
    if compare_by == "linear":
        return sum(p.get(u, 0.0) * q.get(u, 0.0) for u in every)
    if compare_by == "intersection":
        return sum(min(p.get(u, 0.0), q.get(u, 0.0)) for u in every)
    middle = {u: 0.5 * (p.get(u, 0.0) + q.get(u, 0.0)) for u in every}
    divergence = entropy(middle) - 0.5 * (entropy(p) + entropy(q))
    return exp(-max(divergence, 0.0) / (2 * sigma**2))


def profile(x, table, smooth):
    mean = sum(table[a + b] for a, b in product("ACGT", repeat=2)) / 16
    values = [table.get(x[i : i + 2], mean) - mean for i in range(len(x) - 1)]
    averages = []
    for i in range(len(values)):
        window = values[max(0, i - (smooth - 1) // 2) : i + smooth // 2 + 1]
        averages.append(sum(window) / len(window))
    return averages


def profile_kernel(x, y, table, smooth):
    left, right = profile(x, table, smooth), profile(y, table, smooth)
    return sum(a * b for a, b in zip(left, right, strict=False))


def cosine(k, x, y):
    xx, yy = k(x, x), k(y, y)
    return k(x, y) / sqrt(xx * yy) if xx > 0 and yy > 0 else 0.0
