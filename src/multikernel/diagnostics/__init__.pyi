from .local_rademacher import (
    LocalComplexity as LocalComplexity,
    cut_off_values as cut_off_values,
    local_rademacher_bound as local_rademacher_bound,
)
