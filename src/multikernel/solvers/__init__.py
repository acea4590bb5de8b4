"""Algorithms; to add one, write a file and a line here.

Those for lp-norm learning stand in a table by name, `lp_choice`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
