"""Every multiple kernel model, for tests that hold all of them to something."""

from multikernel import estimators
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.ordinal.base import OrdinalMKL
from multikernel.estimators.survival.base import SurvivalMKL

ESTIMATORS: tuple[type[BaseMKL], ...] = tuple(
    item
    for item in (getattr(estimators, name) for name in estimators.__all__)
    if isinstance(item, type)
    and issubclass(item, BaseMKL)
    and not issubclass(item, SurvivalMKL | OrdinalMKL)
)
"""Models for targets of any kind, or any classes: times to an event and ordered classes
have tests of their own."""
