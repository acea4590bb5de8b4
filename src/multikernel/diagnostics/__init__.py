"""What theory says of a dictionary, before or after a fit."""

from multikernel.diagnostics.recovery import (
    RecoveryCoefficient,
    rademacher_bound,
    recovery_coefficient,
)

__all__ = ["RecoveryCoefficient", "rademacher_bound", "recovery_coefficient"]
