from .base import (
    PathSolver as PathSolver,
    Solver as Solver,
    alpha_grid as alpha_grid,
    follow as follow,
    solve_path as solve_path,
)
from .comparison import (
    UFOMKL as UFOMKL,
    HessianMKL as HessianMKL,
    IterativeShrinkage as IterativeShrinkage,
    SimpleMKL as SimpleMKL,
    ufo_exponent as ufo_exponent,
)
from .fixed_weights import FixedWeights as FixedWeights
from .free_columns import FreeColumns as FreeColumns
from .free_thresholds import FreeThresholds as FreeThresholds
from .group_omp import GreedyPath as GreedyPath, GroupOMP as GroupOMP
from .local_rademacher import (
    DCSolution as DCSolution,
    TailConv as TailConv,
    TailDC as TailDC,
)
from .lp import (
    SILP as SILP,
    Alternating as Alternating,
    CuttingPlane as CuttingPlane,
    InterleavedNewton as InterleavedNewton,
    SquaredForm as SquaredForm,
)
from .spicy import SpicyMKL as SpicyMKL
from .weight_rules import (
    alignment_weights as alignment_weights,
    easy_weights as easy_weights,
)
