"""The reference documents every promised name and every name in their docstrings."""

import ast
import importlib
import inspect
import re
import runpy
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import multikernel
from multikernel import SpicyMKLClassifier, TableEncoder
from multikernel._install import page_template

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "multikernel"
PAGES = sorted((ROOT / "docs" / "api").rglob("*.rst"))
PROMISED = (
    "multikernel",
    "multikernel.datasets",
    "multikernel.display",
    "multikernel.exceptions",
    "multikernel.inspection",
    "multikernel.kernels",
    "multikernel.kernels.graph",
    "multikernel.kernels.sequence",
    "multikernel.losses",
    "multikernel.regularizers",
)


def documented() -> set[str]:
    """Return the last parts of all names that the reference lists."""
    return {name.rsplit(".", 1)[-1] for page in PAGES for name in listed(page)}


def listed(page: Path) -> list[str]:
    """Return the names that a page of the reference lists."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^   ([A-Za-z_][\w.]*)$", text, flags=re.MULTILINE)


def defined() -> dict[str, str]:
    """Return every class and function of the package, and where it is."""
    found = {}
    for path in set(SOURCE.rglob("*.py")) - set((SOURCE / "cli").iterdir()):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[node.name] = str(path.relative_to(ROOT))
    return found


def public_objects(module_name: str) -> dict[str, object]:
    """Return the classes and functions that a module offers."""
    module = importlib.import_module(module_name)
    names = getattr(module, "__all__", None) or [
        name for name in vars(module) if not name.startswith("_")
    ]
    found = {name: getattr(module, name) for name in names}
    return {
        name: item
        for name, item in found.items()
        if (inspect.isclass(item) or inspect.isfunction(item))
        and item.__module__.startswith("multikernel")
    }


@pytest.mark.parametrize("module", PROMISED)
def test_every_public_name_is_in_the_reference(module):
    missing = sorted(set(public_objects(module)) - documented())
    assert not missing, f"docs/api lacks {missing} of {module}"


def test_every_name_that_a_docstring_mentions_is_in_the_reference():
    known, everything, missing = documented(), defined(), {}
    for module in PROMISED:
        for owner, item in public_objects(module).items():
            for name in re.findall(
                r"(?<!`)`([A-Za-z_]\w*)`(?!`)", inspect.getdoc(item)
            ):
                own = name in inspect.signature(item).parameters or hasattr(item, name)
                if name in everything and name not in known and not own:
                    missing.setdefault(name, owner)
    assert not missing, f"mentioned, but not in docs/api: {missing}"


def test_pages_outside_the_promise_say_so():
    for page in PAGES:
        provisional = "This page is provisional" in page.read_text(encoding="utf-8")
        assert provisional == (page.parent.name == "provisional"), page


def test_generated_pages_of_provisional_names_say_so():
    for package in ("sphinx_gallery", "sphinx-mathjax-offline"):
        if find_spec(package) is None:
            pytest.skip(f"the site needs {package}")
    mark = runpy.run_path(str(ROOT / "docs" / "conf.py"))["mark_provisional"]

    def marked(name: str) -> bool:
        source = ["Title\n=====\n\n.. autoclass:: Title\n\n.. autosummary::\n"]
        mark(None, f"generated/{name}", source)
        return source[0].count("Provisional: may change in any minor version.\n") == 1

    assert marked("multikernel.solvers.hkl.HullSearch")
    assert marked("multikernel.problem.Problem")
    assert marked("multikernel.inspection.Bootstrap.interval")
    assert not marked("multikernel.SpicyMKLRegressor")
    assert not marked("multikernel.inspection.sobol_indices")


def test_the_package_lists_few_names_and_no_module():
    names = dir(multikernel)
    assert len(names) <= 45
    assert not [name for name in names if inspect.ismodule(getattr(multikernel, name))]


def test_the_reference_explains_parameters_whose_defaults_differ():
    page = ROOT / "docs" / "api" / "estimators.rst"
    defaults = {}
    for name in listed(page):
        estimator = getattr(multikernel, name)
        if hasattr(estimator, "get_params"):
            for parameter, value in estimator().get_params(deep=False).items():
                defaults.setdefault(parameter, set()).add(repr(value))
    text = page.read_text(encoding="utf-8")
    differing = {name for name, values in defaults.items() if len(values) > 1}
    assert {"loss", "tol", "normalize"} <= differing
    assert not {name for name in differing if not re.search(rf"``{name}\b", text)}


@pytest.mark.parametrize("page", PAGES)
def test_no_page_of_the_reference_lists_a_name_twice(page):
    assert sorted(set(listed(page))) == sorted(listed(page))


def documentation() -> str:
    """Return the address that the index of packages gets, empty until there is one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["project"].get("urls", {}).get("Documentation", "")


def test_a_notebook_links_to_the_page_of_an_estimator_once_there_is_an_address(
    monkeypatch,
):
    address = SpicyMKLClassifier()._get_doc_link()
    assert address.startswith(documentation())
    assert bool(address) == bool(documentation())
    template = page_template("https://example.org/stable/")
    for kind in (SpicyMKLClassifier, TableEncoder):
        monkeypatch.setattr(kind, "_doc_link_template", template)
        page = f"generated/multikernel.{kind.__name__}.html"
        assert kind()._get_doc_link() == f"https://example.org/stable/{page}"
        assert f'href="https://example.org/stable/{page}"' in kind()._repr_html_()
        assert kind.__name__ in documented()
