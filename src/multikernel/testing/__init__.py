"""Conformance suites, for the library's components and for your own."""

from multikernel.testing.loss import check_loss
from multikernel.testing.regularizer import check_regularizer

__all__ = ["check_loss", "check_regularizer"]
