"""SpicyMKL: sparse models by a dual augmented Lagrangian."""

from multikernel.solvers.spicy.solver import SpicyMKL

__all__ = ["SpicyMKL"]
