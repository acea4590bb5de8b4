"""Learners for one Gram matrix. To add one, write its file and add it to `MACHINES`."""

from multikernel.exceptions import UnsupportedProblemError
from multikernel.losses.base import Loss
from multikernel.machines.base import (
    KernelMachine,
    MachineFit,
    support_product,
    warm_start,
)
from multikernel.machines.crammer_singer import CrammerSinger
from multikernel.machines.multinomial import Multinomial
from multikernel.machines.newton import Newton
from multikernel.machines.ridge import Ridge
from multikernel.machines.smo.machine import SMO

MACHINES: tuple[type[KernelMachine], ...] = (
    Ridge,
    SMO,
    Newton,
    CrammerSinger,
    Multinomial,
)
"""All machines, in order of preference; all their parameters have defaults."""


def machine_for(loss: Loss) -> KernelMachine:
    """Return the first machine in `MACHINES` that supports a loss; raise if none."""
    reasons = []
    for machine in (machine_class() for machine_class in MACHINES):
        reason = machine.unsupported(loss)
        if reason is None:
            return machine
        reasons.append(reason)
    name = type(loss).__name__
    problem = f"No kernel machine of multikernel supports {name}: use another loss."
    raise UnsupportedProblemError(" ".join([problem, *reasons]))


__all__ = [
    "MACHINES",
    "SMO",
    "CrammerSinger",
    "KernelMachine",
    "MachineFit",
    "Multinomial",
    "Newton",
    "Ridge",
    "machine_for",
    "support_product",
    "warm_start",
]
