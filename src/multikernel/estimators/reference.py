"""Links from estimators in notebooks to their reference pages."""

from multikernel._install import DOCUMENTATION


def page_template(address: str) -> str:
    """Return the template of the addresses of estimators' pages for scikit-learn.

    If `address` is empty, the template is empty, and scikit-learn shows no link.
    """
    if not address:
        return ""
    return f"{address}generated/multikernel.{{estimator_name}}.html"


REFERENCE = "multikernel", page_template(DOCUMENTATION)
"""The module and the template that scikit-learn's diagrams read from an estimator."""
