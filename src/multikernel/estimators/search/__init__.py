"""Cross-validation and paths: one search for the estimators of every method."""
