"""Sequential minimal optimization for losses with corners."""

from multikernel.machines.smo.machine import SMO

__all__ = ["SMO"]
