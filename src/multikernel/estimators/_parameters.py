"""What the constructor parameters of estimators may be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from multikernel._validation import (
    COUNT,
    FLAG,
    NOTHING,
    POSITIVE,
    AnyOf,
    Check,
    InstanceOf,
    Number,
    OneOf,
)
from multikernel.gram.build import STORAGE
from multikernel.gram.normalization import STEPS


def normalization_steps(value: Any) -> str | None:
    """Check a ``normalize`` parameter: None, a step, or a sequence of steps."""
    steps = (value,) if isinstance(value, str) else value
    if value is None or (
        isinstance(steps, list | tuple) and all(step in STEPS for step in steps)
    ):
        return None
    return f"None, one of {', '.join(map(repr, STEPS))}, or a sequence of these"


SHARED_CHECKS: Mapping[str, Check] = {
    "normalize": normalization_steps,
    "fit_intercept": FLAG,
    "tol": POSITIVE,
    "max_iter": COUNT,
    "storage": OneOf(STORAGE),
    "max_bytes": AnyOf((NOTHING, COUNT)),
    "verbose": AnyOf((FLAG, Number(0, integer=True))),
    "random_state": AnyOf(
        (
            NOTHING,
            Number(0, integer=True),
            InstanceOf(np.random.RandomState, "a RandomState"),
        )
    ),
}
"""Parameters that every estimator has."""
