"""What the method has to reach: cost of conv, dc and spectra.

    python targets.py [--smoke]

conv at most 1.3 times the plain lp fit, and dc at most 10 of them, on 1000 samples and
5 kernels; spectra of 50 kernels on 2000 samples by at most 200 products a kernel, with
tails to 1e-6 of the trace; factors of rank r at O(n r^2). Times are processor time on
one thread.
"""

import argparse
import time

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from sets import generated

from multikernel.estimators import LocalRademacherMKLClassifier, LpMKLClassifier
from multikernel.gram import DenseStack, LowRankStack, tail_sums
from multikernel.kernels import GaussianKernel, LinearKernel, PolynomialKernel
from multikernel.losses import HingeLoss
from multikernel.problem import Problem
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, TailConv, TailDC


def seconds(work, repeats):
    """Return the least processor time of some runs, and the last result."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        times.append(time.process_time() - began)
    return min(times), found


def fits(n: int, repeats: int) -> None:
    """Compare conv and dc with the plain fit, tails included."""
    data = generated(n)
    scale = n / np.trace(data.grams, axis1=1, axis2=2)
    stack = DenseStack(data.grams * scale[:, None, None])
    lp = InterleavedNewton(tol=1e-3)
    lp.solve(Problem(stack, data.y, HingeLoss(), SquaredBlockNorm(1.0)))  # compiled
    print(f"\nn = {n}, 5 kernels, tol 1e-3: seconds, multiples of the plain fit\n")
    print("| p | theta | C | plain | conv | dc, one start | dc, three | problems |")
    print("|---" * 8 + "|")
    for p in (1.0, 2.0):
        for theta in (1, 4, 16):
            for C in (0.1, 1.0, 10.0):
                penalty = SquaredBlockNorm(1.0 / C, p)
                problem = Problem(stack, data.y, HingeLoss(), penalty)
                base, _ = seconds(lambda q=problem: lp.solve(q), repeats)
                row = [f"{p:g}", str(theta), f"{C:g}", f"{base:.2f}"]
                for solver in (
                    TailConv(lp, theta),
                    TailDC(lp, theta, n_starts=1),
                    TailDC(lp, theta),
                ):
                    took, found = seconds(
                        lambda s=solver, q=problem: s.solve(q), repeats
                    )
                    row.append(f"{took:.2f} ({took / base:.2f})")
                print("| " + " | ".join([*row, str(found.n_iter)]) + " |", flush=True)


def estimators(n: int) -> None:
    """Compare fits of estimators, Gram matrices included."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, 1, 0)
    kernels = [GaussianKernel(width) for width in (0.5, 1.0, 2.0, 4.0, 8.0)]
    print(f"\nfits of estimators, n = {n}, 5 Gaussian kernels\n")
    print(
        "| p | theta | LpMKL | conv | dc, one start | dc, three |\n" + "|---" * 6 + "|"
    )
    for p in (1.0, 2.0):
        for theta in (1, 4, 16):
            plain = LpMKLClassifier(kernels, p=p, normalize="trace")
            base, _ = seconds(lambda m=plain: m.fit(X, y), 3)
            row = [f"{p:g}", str(theta), f"{base:.2f}"]
            for method in ({"method": "conv"}, {"n_starts": 1}, {}):
                model = LocalRademacherMKLClassifier(
                    kernels, p=p, theta=theta, **({"method": "dc"} | method)
                )
                took, _ = seconds(lambda m=model: m.fit(X, y), 3)
                row.append(f"{took:.2f} ({took / base:.2f})")
            print("| " + " | ".join(row) + " |", flush=True)


def spectra(n: int, n_kernels: int) -> None:
    """Count products for sixteen eigenvalues, for all cut-offs up to that at once."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    print(f"\n{n_kernels} kernels, n = {n}, theta = 16\n")
    print("| kernels | products, median | most | error / trace, most | eigsh |")
    print("|---" * 5 + "|")
    kinds = {
        "Gaussian": lambda m, d: GaussianKernel(0.2 * 1.2 ** (m % 20) * d**0.5),
        "polynomial": lambda m, d: PolynomialKernel(2 + m % 3),
    }
    for name, kind in kinds.items():
        counts, errors, theirs = [], [], []
        for m in range(n_kernels if name == "Gaussian" else min(n_kernels, 6)):
            columns = rng.choice(20, rng.integers(1, 20), replace=False)
            K = kind(m, columns.size)(X[:, columns])
            sums = tail_sums(DenseStack(K[None]), 16)
            counts.append(int(sums.products[0]))
            made = [0]

            def product(v, K=K, made=made):
                made[0] += 1
                return K @ v

            operator = LinearOperator((n, n), product, dtype=float)
            exact = eigsh(operator, 16, which="LA", tol=1e-9, return_eigenvectors=False)
            theirs.append(made[0])
            tail = (np.trace(K) - exact.sum()) / n
            errors.append(abs(sums.tails[0, 16] - tail) / sums.totals[0])
        print(
            f"| {name} | {np.median(counts):.0f} | {max(counts)} | {max(errors):.1e} | "
            f"{np.median(theirs):.0f} to {max(theirs)} |",
            flush=True,
        )
    for rank in (10, 100):
        Z = rng.standard_normal((10 * n, rank))
        stack = LowRankStack(Z, np.array([0, rank]))
        took, _ = seconds(lambda s=stack: tail_sums(s, 8), 3)
        print(f"\nfactors of rank {rank}, n = {10 * n}: {1e3 * took:.1f} ms")
    K = LinearKernel()(X)
    sums = tail_sums(DenseStack(K[None]), 16)
    print(f"\nlinear kernel of rank 20: {sums.products[0]} products")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--part", choices=("fits", "spectra", "estimators"))
    options = parser.parse_args()
    wanted = ("spectra", "fits", "estimators")
    for part in wanted if options.part is None else (options.part,):
        if part == "spectra":
            spectra(*((200, 2) if options.smoke else (2000, 50)))
        elif part == "fits":
            fits(*((80, 1) if options.smoke else (1000, 1)))
        else:
            estimators(80 if options.smoke else 1000)


if __name__ == "__main__":
    main()
