"""The link from an estimator that a notebook shows to its page of the reference."""

from multikernel._install import DOCUMENTATION


def page_template(address: str) -> str:
    """Return the addresses of estimators' pages, as scikit-learn fills them in.

    Without an address of the site there is none, and scikit-learn shows no link.
    """
    if not address:
        return ""
    return f"{address}generated/multikernel.{{estimator_name}}.html"


class ReferenceLink:
    """What scikit-learn's diagrams ask an estimator for, before `BaseEstimator`."""

    _doc_link_module = "multikernel"
    _doc_link_template = page_template(DOCUMENTATION)
