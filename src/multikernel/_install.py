"""Installation instructions for error messages and documents, and links to pages."""

# Once the library is on a package index, this becomes "multikernel" and `PLACE` empty;
# ``tests/test_install.py`` then lists the documents to update.
PACKAGE = "."
"""Argument of ``pip install``."""

PLACE = "in a clone of multikernel, run "
"""Beginning of an instruction: the folder in which to run pip."""

# A test compares this address with ``Documentation`` in ``[project.urls]`` of
# pyproject.toml.
DOCUMENTATION = ""
"""Address of the documentation with a slash at the end; empty until it is published."""


def page_template(address: str) -> str:
    """Return the URL pattern of estimators' pages; empty if `address` is empty."""
    # `address` is that of the documentation, with a slash at the end. With an empty
    # pattern, scikit-learn's diagrams of estimators contain no link.
    return f"{address}generated/multikernel.{{estimator_name}}.html" if address else ""


REFERENCE = "multikernel", page_template(DOCUMENTATION)
"""The module and the template that scikit-learn's diagrams read from an estimator."""


def install_line(*extras: str) -> str:
    """Return the command that installs the library with some extras."""
    if not extras:
        return f"pip install {PACKAGE}"
    return f"pip install '{PACKAGE}[{','.join(extras)}]'"


def how_to_install(*extras: str) -> str:
    """Return installation instructions that end a message about a missing library."""
    return f"{PLACE}{install_line(*extras)}"
