"""Solvers: algorithms for problems with many kernels.

`lp_choice` has a table of the solvers for lp-norm learning, by name.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
