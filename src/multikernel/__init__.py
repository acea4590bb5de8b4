"""Multiple kernel learning with certified optimality."""

__version__ = "0.1.0.dev0"
