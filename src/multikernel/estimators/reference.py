"""The link from an estimator that a notebook shows to its page of the reference."""

from multikernel._install import DOCUMENTATION


def page_template(address: str) -> str:
    """Return the addresses of estimators' pages, as scikit-learn fills them in.

    Without an address of the site there is none, and scikit-learn shows no link.
    """
    if not address:
        return ""
    return f"{address}generated/multikernel.{{estimator_name}}.html"


REFERENCE = "multikernel", page_template(DOCUMENTATION)
"""The module and the template that scikit-learn's diagrams ask an estimator for."""
