"""Estimators built from a loss, a penalty and a solver of the user's own."""
