"""Sequential minimal optimization for piecewise linear losses."""

from multikernel.machines.smo.machine import SMO

__all__ = ["SMO"]
