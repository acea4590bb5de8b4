"""Weights that no solver learns: equal, given, by a rule, or of one kernel."""
