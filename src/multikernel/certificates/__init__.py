"""Proofs of optimality: one duality gap for every loss, regulariser and solver."""

from multikernel.certificates.centring import (
    centred,
    centred_targets,
    half_range,
    published_intercept,
)
from multikernel.certificates.evaluation import (
    ORDINARY,
    Terms,
    Worth,
    duality_gap,
    enlarged_gap,
    evaluate,
    evaluate_terms,
    largest_losses,
    rounding_unit,
    safely_feasible,
    with_rounding,
)
from multikernel.certificates.forms import (
    TINY,
    check_combination,
    check_forms,
    dual_norms,
    factor_norms,
)
from multikernel.certificates.full_kernels import FullProof, prove_over_full_kernels
from multikernel.certificates.gap import (
    DualCertificate,
    certify,
    check_gap,
    decision_values,
    primal_value,
    project_dual,
    relative_gap,
    scaled_dual_value,
)
from multikernel.certificates.null_model import (
    ConstantModel,
    alpha_max,
    best_intercept,
    best_intercepts,
    constant_model,
)

__all__ = [
    "ORDINARY",
    "TINY",
    "ConstantModel",
    "DualCertificate",
    "FullProof",
    "Terms",
    "Worth",
    "alpha_max",
    "best_intercept",
    "best_intercepts",
    "centred",
    "centred_targets",
    "certify",
    "check_combination",
    "check_forms",
    "check_gap",
    "constant_model",
    "decision_values",
    "dual_norms",
    "duality_gap",
    "enlarged_gap",
    "evaluate",
    "evaluate_terms",
    "factor_norms",
    "half_range",
    "largest_losses",
    "primal_value",
    "project_dual",
    "prove_over_full_kernels",
    "published_intercept",
    "relative_gap",
    "rounding_unit",
    "safely_feasible",
    "scaled_dual_value",
    "with_rounding",
]
