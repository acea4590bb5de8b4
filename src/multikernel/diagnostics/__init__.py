"""What theory says of a dictionary, before or after a fit."""

from multikernel.diagnostics.local_rademacher import (
    LocalComplexity,
    cut_off_values,
    local_rademacher_bound,
    local_rademacher_leading_term,
    local_rademacher_rate,
)
from multikernel.diagnostics.recovery import (
    RecoveryCoefficient,
    rademacher_bound,
    recovery_coefficient,
)

__all__ = [
    "LocalComplexity",
    "RecoveryCoefficient",
    "cut_off_values",
    "local_rademacher_bound",
    "local_rademacher_leading_term",
    "local_rademacher_rate",
    "rademacher_bound",
    "recovery_coefficient",
]
