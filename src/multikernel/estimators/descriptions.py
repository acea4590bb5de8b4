"""What parameters and attributes of many estimators mean: each is described once.

The docstring of an estimator says what is its own: parameters and attributes that mean
something else elsewhere, or are no other's; one that is described here may stand there
by its name alone. `documented` writes the rest: all parameters, in the order of the
signature, and the attributes that every fit leaves. The descriptions are sections of
descriptions.txt.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import cleandoc, signature
from pathlib import Path
from typing import TypeVar

from sklearn.base import ClassifierMixin

Estimator = TypeVar("Estimator", bound=type)


def documented(
    *sections: str, lacks: Sequence[str] = ()
) -> Callable[[Estimator], Estimator]:
    """Return a decorator that writes the descriptions of sections into a docstring.

    Parameters
    ----------
    *sections : str
        Sections beside the ones for every estimator, and for classifiers or regressors:
        for a family, or for a word that means something else there. If entries have the
        same name, the last one counts.
    lacks : sequence of str, default=()
        Attributes of every search or fit that this one does not have.

    Returns
    -------
    decorate : callable
        From a class whose docstring says what is its own to the same class, with a
        docstring that has every parameter, and every attribute of a fit. What is
        described nowhere raises a KeyError.
    """

    def decorate(estimator: Estimator) -> Estimator:
        if estimator.__doc__ is None:  # Docstrings are left out by ``python -OO``.
            return estimator
        classifies = issubclass(estimator, ClassifierMixin)
        task = "classifiers" if classifies else "regressors"
        described: dict[str, str] = {}
        for section in ("every estimator", task, *sections):
            described |= _sections()[section]
        parameters = list(signature(estimator).parameters)
        searched = _sections()["of every search"] if "cv" in parameters else ()
        missing = lacks if classifies else (*lacks, "classes_")
        every = (*searched, *_sections()["of every fit"])
        attributes = [name for name in every if name not in missing]
        heading = r"^(\w[\w ]+)\n-+\n"
        about, *rest = re.split(
            heading, cleandoc(estimator.__doc__), flags=re.MULTILINE
        )
        texts_here = dict(zip(rest[::2], rest[1::2], strict=True))
        completed = {
            "Parameters": _completed(
                texts_here.pop("Parameters", ""), parameters, described
            ),
            "Attributes": _completed(
                texts_here.pop("Attributes", ""), attributes, described
            ),
            **texts_here,
        }
        written = [f"{k}\n{'-' * len(k)}\n{text}" for k, text in completed.items()]
        estimator.__doc__ = about + "".join(written) + "\n"
        return estimator

    return decorate


@cache
def _sections() -> dict[str, dict[str, str]]:
    """Return the entries of descriptions.txt by section and name."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^\[(.+)\]\n", text, flags=re.MULTILINE)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return {name: _entries(entries) for name, entries in sections}


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section by name."""
    parts = re.split(r"\n(?=\S)", text.strip()) if text else []
    return {entry.partition(" :")[0]: entry for entry in parts}


def _completed(text: str, names: Sequence[str], described: Mapping[str, str]) -> str:
    """Return a section with all of some entries, in their order.

    What it has besides stays behind the entry that it follows, or begins the section.
    """
    listed, order, position = _entries(text), list(names), 0
    for name in listed:
        if name not in order:
            order.insert(position, name)
        position = order.index(name) + 1
    # A name alone stands for what is described elsewhere.
    alone = {name for name, entry in listed.items() if entry == name}
    entries = [
        listed[name] if name in listed.keys() - alone else described[name]
        for name in order
    ]
    return "\n".join([*entries, "", ""])
