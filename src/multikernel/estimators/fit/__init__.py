"""The fit sequence that every estimator goes through, and prediction after it."""
