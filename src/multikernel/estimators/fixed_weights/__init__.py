"""Weights without a solver: equal, given, by a rule, or a single kernel."""
