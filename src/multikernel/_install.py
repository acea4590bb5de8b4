"""Where the library is, and how it is installed, as messages and documents say it.

No index of packages has the library yet. On the day when one does, `PACKAGE` becomes
"multikernel" and `PLACE` empty; ``tests/test_install.py`` then lists the texts that
are to follow.
"""

PACKAGE = "."
"""What pip is told to install."""

PLACE = "in a clone of multikernel, "
"""Where it is told so, in the words of a message."""

DOCUMENTATION = ""
"""The address of the site, with a slash at its end; empty until it has one. It is
``Documentation`` in ``[project.urls]`` of pyproject.toml too, which a test compares."""


def install_line(*extras: str) -> str:
    """Return the command that installs the library with some extras.

    >>> from multikernel._install import install_line
    >>> install_line("cli", "plot")
    "pip install '.[cli,plot]'"
    """
    if not extras:
        return f"pip install {PACKAGE}"
    return f"pip install '{PACKAGE}[{','.join(extras)}]'"


def how_to_install(*extras: str) -> str:
    """Return what ends a message about something that is not installed."""
    return f"{PLACE}{install_line(*extras)}"
