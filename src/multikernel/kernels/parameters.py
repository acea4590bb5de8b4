"""Changing a parameter of kernels, wherever they stand, for searches over it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sklearn.base import clone

INSIDE = ("kernel", "kernels", "gaussian", "views")
"""Fields that hold other kernels."""


def with_parameter(kernels: Any, path: Sequence[str], value: Any) -> Any:
    """Return kernels with another value of a parameter; nothing is changed in place.

    Before the name of the parameter, `path` has what leads to it: names of views,
    numbers in a list, names of fields. What does not lead on is looked for further
    inside, so that ``["sigma"]`` means that of all kernels that have one; if none has,
    it is refused.

    >>> from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
    >>> kernels = [LinearKernel(), ColumnKernel(GaussianKernel(1.0), "age")]
    >>> with_parameter(kernels, ["sigma"], 2.0)[1].name
    'gaussian(sigma=2)[age]'
    """
    changed = _changed(kernels, tuple(path), value)
    if changed is kernels:
        raise ValueError(
            f"No kernel among {kernels!r:.200} has the parameter {'__'.join(path)!r}."
        )
    return changed


def parameters_of(kernels: Any) -> dict[str, Any]:
    """Return the parameters that `with_parameter` changes, by their names.

    Parts of a name are joined by two underscores. Where it means that of several
    kernels, the value is the list of their different values if these differ.

    >>> from multikernel.kernels import GaussianKernel
    >>> found = parameters_of([GaussianKernel(1.0), GaussianKernel(2.0)])
    >>> found["0__sigma"], found["sigma"]
    (1.0, [1.0, 2.0])
    """
    found: dict[str, list[Any]] = {}
    for name, value in _parameters(kernels):
        known = found.setdefault(name, [])
        if all(value is not other and repr(value) != repr(other) for other in known):
            known.append(value)
    return {
        name: values[0] if len(values) == 1 else values
        for name, values in sorted(found.items())
    }


def _parameters(kernels: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of parameters, some names several times."""
    members: Mapping[str, Any] = {}
    own: Mapping[str, Any] = {}
    if isinstance(kernels, Mapping):
        members = kernels
    elif isinstance(kernels, list | tuple):
        members = {str(place): item for place, item in enumerate(kernels)}
    elif isinstance(kernels, type):
        return
    elif is_dataclass(kernels):
        own = {f.name: getattr(kernels, f.name) for f in fields(kernels) if f.init}
        members = {name: own[name] for name in INSIDE if name in own}
    elif hasattr(kernels, "set_params"):
        own = kernels.get_params()
    yield from own.items()
    for key, member in members.items():
        for name, value in _parameters(member):
            yield f"{key}__{name}", value
            # A plain name is looked for in all members.
            if "__" not in name and name not in own:
                yield name, value


def _changed(kernels: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return kernels with the parameter changed, the same object if none has it."""
    if isinstance(kernels, Mapping):
        views = dict(kernels)
        found = _members_changed(views, path, value)
        return kernels if found is views else found
    if isinstance(kernels, list | tuple):
        places = {str(place): item for place, item in enumerate(kernels)}
        found = _members_changed(places, path, value)
        return kernels if found is places else type(kernels)(found.values())
    if is_dataclass(kernels) and not isinstance(kernels, type):
        own = {f.name: getattr(kernels, f.name) for f in fields(kernels) if f.init}
        if path[0] in own and len(path) == 1:
            return replace(kernels, **{path[0]: value})
        inside = {name: own[name] for name in INSIDE if name in own}
        found = _members_changed(inside, path, value)
        return kernels if found is inside else replace(kernels, **found)
    gp_kernel = hasattr(kernels, "set_params") and not isinstance(kernels, type)
    if gp_kernel and path[0] in kernels.get_params(deep=False):
        # A kernel of scikit-learn's Gaussian processes.
        return clone(kernels).set_params(**{"__".join(path): value})
    return kernels


def _members_changed(
    members: dict[str, Any], path: tuple[str, ...], value: Any
) -> dict[str, Any]:
    """Return members, of which the one that the path names is changed, or all."""
    if path[0] in members and len(path) > 1:
        chosen, path = [path[0]], path[1:]
    else:
        chosen = list(members)
    new = {key: _changed(members[key], path, value) for key in chosen}
    if all(new[key] is members[key] for key in chosen):
        return members
    return members | new
