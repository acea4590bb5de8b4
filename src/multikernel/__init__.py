"""Multiple kernel learning with certified optimality.

Names are listed in `__init__.pyi` and loaded when they are first asked for, here and in
the packages whose names users import: an estimator loads what it fits with, a picture
what it draws, and the command line speaks at once.
"""

import lazy_loader

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
