"""Every multiple kernel model, for tests that hold all of them to something."""

from sklearn.base import BaseEstimator

from multikernel import TableEncoder, estimators

MODELS: tuple[type[BaseEstimator], ...] = tuple(
    item
    for item in (getattr(estimators, name) for name in estimators.__all__)
    if isinstance(item, type)
    and issubclass(item, BaseEstimator)
    and item is not TableEncoder
)
"""All models."""

ESTIMATORS = tuple(
    item
    for item in MODELS
    if "Survival" not in item.__name__ and "Ordinal" not in item.__name__
)
"""Models for targets of any kind, or any classes: times to an event and ordered classes
have tests of their own."""
