from .local_rademacher import (
    LocalComplexity as LocalComplexity,
    cut_off_values as cut_off_values,
    local_rademacher_bound as local_rademacher_bound,
    local_rademacher_leading_term as local_rademacher_leading_term,
    local_rademacher_rate as local_rademacher_rate,
)
from .recovery import (
    RecoveryCoefficient as RecoveryCoefficient,
    rademacher_bound as rademacher_bound,
    recovery_coefficient as recovery_coefficient,
)
