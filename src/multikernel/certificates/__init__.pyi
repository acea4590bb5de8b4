from .evaluation import (
    Model as Model,
    Terms as Terms,
    decision_values as decision_values,
    duality_gap as duality_gap,
    evaluate as evaluate,
    evaluate_multiples as evaluate_multiples,
    evaluate_terms as evaluate_terms,
    evaluated as evaluated,
    model_of_expansions as model_of_expansions,
    model_of_multiples as model_of_multiples,
)
from .forms import (
    Expansion as Expansion,
    FullProof as FullProof,
    best_multiple as best_multiple,
    check_combination as check_combination,
    check_forms as check_forms,
    dual_norms as dual_norms,
    expand as expand,
    factor_norms as factor_norms,
    prove_over_full_kernels as prove_over_full_kernels,
)
from .gap import (
    DualCertificate as DualCertificate,
    certify as certify,
    check_gap as check_gap,
    primal_value as primal_value,
    project_dual as project_dual,
    relative_gap as relative_gap,
    scaled_dual_value as scaled_dual_value,
)
from .null_model import (
    ConstantModel as ConstantModel,
    alpha_max as alpha_max,
    best_intercept as best_intercept,
    best_intercepts as best_intercepts,
    constant_model as constant_model,
    largest_alphas as largest_alphas,
)
from .rounding import (
    ORDINARY as ORDINARY,
    Worth as Worth,
    gap_of as gap_of,
    largest_losses as largest_losses,
    prove as prove,
    rounding_safe as rounding_safe,
    rounding_unit as rounding_unit,
    with_rounding as with_rounding,
)
