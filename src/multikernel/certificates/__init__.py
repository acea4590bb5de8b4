"""Proofs of optimality: one duality gap for every loss, regulariser and solver."""

from multikernel.certificates.curvature import check_combination
from multikernel.certificates.evaluation import (
    ORDINARY,
    Terms,
    Worth,
    duality_gap,
    enlarged_gap,
    evaluate,
    evaluate_terms,
    safely_feasible,
)
from multikernel.certificates.forms import TINY, check_forms, dual_norms, factor_norms
from multikernel.certificates.gap import (
    DualCertificate,
    certify,
    check_gap,
    decision_values,
    primal_value,
    project_dual,
    relative_gap,
    rounding_floor,
    scaled_dual_value,
)
from multikernel.certificates.null_model import (
    ConstantModel,
    alpha_max,
    best_intercept,
    best_intercepts,
    constant_model,
)
from multikernel.certificates.refinement import FullProof, prove_over_full_kernels

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
    "primal_value",
    "project_dual",
    "prove_over_full_kernels",
    "relative_gap",
    "rounding_floor",
    "safely_feasible",
    "scaled_dual_value",
]
