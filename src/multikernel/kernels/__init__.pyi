from .base import (
    Kernel as Kernel,
    KernelDictionary as KernelDictionary,
    kernel_name as kernel_name,
)
from .builders import (
    RandomSubsetGaussians as RandomSubsetGaussians,
    per_column as per_column,
    per_group as per_group,
    random_subset_gaussians as random_subset_gaussians,
    spicy_dictionary as spicy_dictionary,
)
from .category import CategoryKernel as CategoryKernel
from .columns import ColumnKernel as ColumnKernel
from .dictionary import (
    ListDictionary as ListDictionary,
    ParameterGrid as ParameterGrid,
    kernel_names as kernel_names,
    resolve_columns as resolve_columns,
)
from .expected import ExpectedKernel as ExpectedKernel
from .gaussian import GaussianKernel as GaussianKernel
from .given import FunctionKernel as FunctionKernel
from .grams import Grams as Grams
from .interactions import Interactions as Interactions
from .median import (
    median_dictionary as median_dictionary,
    median_distance as median_distance,
)
from .polynomial import (
    LinearKernel as LinearKernel,
    PolynomialKernel as PolynomialKernel,
    TanimotoKernel as TanimotoKernel,
)
from .products import CenteredKernel as CenteredKernel, ProductKernel as ProductKernel
from .sampled import (
    NystroemKernel as NystroemKernel,
    RandomFourierFeatures as RandomFourierFeatures,
)
from .views import (
    OptionalKernel as OptionalKernel,
    Unpenalized as Unpenalized,
    Views as Views,
)
