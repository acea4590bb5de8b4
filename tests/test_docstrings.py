"""Every public name is documented, and what is said twice is said alike."""

import importlib
import inspect
import pkgutil
import re
from collections import defaultdict

import pytest
from interface.names import documented
from reference.estimators import ESTIMATORS

import multikernel
from multikernel.estimators import (
    MKLClassifier,
    MKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLOrdinal,
    SpicyMKLOrdinalCV,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
    SpicyMKLSurvivalCV,
)

validate = pytest.importorskip("numpydoc.validate")

# What numpydoc asks for beyond the house's rules: a summary may be one line alone
# (ES01), and only what is used as a whole has See Also (SA01), an example (EX01) or
# more than a return line (RT03). The parameters of protocols' and overriding methods
# are those of what they stand for (PR01, RT01, YD01). Returns have names (RT02), and
# "lp-norm" is written in small letters (SS02, PR08).
IGNORED = {
    *("ES01", "SA01", "SA04", "EX01", "RT03", "RT02", "RT04", "PR01", "RT01", "YD01"),
    *("GL01", "SS02", "PR08"),
}

PACKAGES = (
    "multikernel",
    *(
        f"multikernel.{found.name}"
        for found in pkgutil.iter_modules(multikernel.__path__)
        if found.ispkg and not found.name.startswith("_") and found.name != "cli"
    ),
    "multikernel.kernels.graph",
    "multikernel.kernels.sequence",
    "multikernel.solvers.hkl",
)


def public_objects():
    """Yield the full names of all public classes, their methods, and functions."""
    seen = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            own = getattr(value, "__module__", "") or ""
            if (
                not callable(value)
                or not own.startswith("multikernel")
                or value in seen
            ):
                continue
            seen.add(value)
            yield f"{package}.{name}"
            if not inspect.isclass(value):
                continue
            for method, function in inspect.getmembers(value, inspect.isfunction):
                own = function.__module__.startswith("multikernel")
                if own and not method.startswith("_") and function not in seen:
                    seen.add(function)
                    yield f"{package}.{name}.{method}"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_are_valid(package):
    names = [
        name for name in public_objects() if name.rpartition(".")[0].startswith(package)
    ]
    wrong = []
    for name in names:
        report = validate.validate(name)
        wrong += [
            f"{name}: {code} {text}"
            for code, text in report["errors"]
            if code not in IGNORED
        ]
    assert not wrong, "\n".join(wrong)


def test_every_promised_class_and_function_has_an_example():
    """Warnings have none: there is nothing to call."""
    promised = {
        name: item
        for name, item in documented().items()
        if callable(item) and not (inspect.isclass(item) and issubclass(item, Warning))
    }
    assert len(promised) > 90
    assert [name for name, item in promised.items() if ">>> " not in item.__doc__] == []


def entries(docstring, section, end):
    """Return what is said of each parameter or attribute."""
    text = inspect.cleandoc(docstring)
    _, found, rest = text.partition(f"\n{section}\n---")
    if not found:
        return {}
    block = rest.split("\n", 1)[1].partition(f"\n{end}\n---")[0]
    items = re.findall(r"(?m)^(\w+) : (.*\n(?:    .*\n|\n(?=    ))*)", block + "\n")
    return {name: re.sub(r"\s+", " ", said).strip() for name, said in items}


# What means something else in every method.
OF_THE_METHOD = {
    "method",
    "alpha",
    "solver",
    "alphas",
    "Cs",
    "loss",
    "tol",
    "max_iter",
    "refit",
    "max_kernels",
    "max_search_rows",
    "C",
    "p",
    "normalize",
    "n_starts",
    "random_state",
}


def test_parameters_are_described_alike():
    texts = defaultdict(dict)
    for estimator in ESTIMATORS:
        task = "classify" if "Classifier" in estimator.__name__ else "regress"
        family = re.sub("Classifier|Regressor", "", estimator.__name__)
        for name, said in entries(
            estimator.__doc__, "Parameters", "Attributes"
        ).items():
            # A graph is no dictionary, and has no matrices to hold or to scale.
            # Default kernels of novelty detection are others.
            other = family.startswith(("HKL", "OneClass"))
            own = name in OF_THE_METHOD or other
            owner = family if own else ""
            texts[name, task, owner].setdefault(said, []).append(estimator.__name__)
    different = {key: said for key, said in texts.items() if len(said) > 1}
    assert len(texts) > 40
    assert not different, different


# These two are provisional: they describe their own parameters, and refer to a promised
# estimator, which describes the others.
DESCRIBED_ELSEWHERE = {
    MKLClassifier: SpicyMKLClassifier,
    MKLRegressor: SpicyMKLRegressor,
}


@pytest.mark.parametrize(
    "estimator",
    [
        *(e for e in ESTIMATORS if e not in DESCRIBED_ELSEWHERE),
        SpicyMKLSurvival,
        SpicyMKLSurvivalCV,
        SpicyMKLOrdinal,
        SpicyMKLOrdinalCV,
    ],
    ids=lambda e: e.__name__,
)
def test_every_parameter_is_described_in_order(estimator):
    described = entries(estimator.__doc__, "Parameters", "Attributes")
    assert list(described) == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("estimator", DESCRIBED_ELSEWHERE, ids=lambda e: e.__name__)
def test_every_parameter_is_described_here_or_in_the_estimator_it_names(estimator):
    other = DESCRIBED_ELSEWHERE[estimator]
    assert f"are those of `{other.__name__}`" in inspect.cleandoc(estimator.__doc__)
    described = list(entries(estimator.__doc__, "Parameters", "Raises"))
    elsewhere = entries(other.__doc__, "Parameters", "Attributes")
    parameters = list(inspect.signature(estimator).parameters)
    assert {*parameters} <= {*described, *elsewhere}
    assert described == [name for name in parameters if name in described]
    assert {"loss", "regularizer", "solver"} == {*described}
