"""Weights by rules of thumb, and the best single kernel: quick, without certificate."""
