"""Finding the fitted kernel model inside whatever the caller holds."""

from typing import Any

from sklearn.utils.validation import check_is_fitted


def final_estimator(estimator: Any) -> Any:
    """Return the fitted model inside a pipeline or a search.

    Parameters
    ----------
    estimator : estimator
        A fitted multiple kernel model, or a `Pipeline` that ends in one, or a search
        (`GridSearchCV`) whose best estimator is one.

    Returns
    -------
    model : estimator

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    TypeError
        If what is inside is no multiple kernel model.
    """
    check_is_fitted(estimator)
    model = estimator
    while not hasattr(model, "kernel_weights_"):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[-1][1]
        else:
            raise TypeError(
                f"{type(model).__name__} has no kernel_weights_: expected a fitted "
                "multiple kernel model, or a pipeline or search that ends in one."
            )
    return model
