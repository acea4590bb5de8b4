"""Proofs of optimality: one duality gap for every loss, regulariser and solver."""

import lazy_loader

from multikernel.problem import (
    centred,
    centred_targets,
    half_range,
    published_intercept,
)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["centred", "centred_targets", "half_range", "published_intercept"]
