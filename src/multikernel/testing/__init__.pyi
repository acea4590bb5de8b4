from .gram_stack import check_gram_stack as check_gram_stack
from .kernel import (
    check_kernel as check_kernel,
    check_kernel_graph as check_kernel_graph,
)
from .loss import check_loss as check_loss
from .regularizer import check_regularizer as check_regularizer
from .solver import (
    check_solution as check_solution,
    check_solver as check_solver,
    small_problems as small_problems,
)
