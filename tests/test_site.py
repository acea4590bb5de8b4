"""The reference documents every public name, and every name that texts mention."""

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

from multikernel import SpicyMKLClassifier, TableEncoder
from multikernel.estimators.reference import page_template

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "multikernel"
PUBLIC = (
    "multikernel",
    "multikernel.certificates",
    "multikernel.datasets",
    "multikernel.diagnostics",
    "multikernel.display",
    "multikernel.exceptions",
    "multikernel.gram",
    "multikernel.inspection",
    "multikernel.kernels",
    "multikernel.kernels.graph",
    "multikernel.kernels.sequence",
    "multikernel.losses",
    "multikernel.machines",
    "multikernel.regularizers",
    "multikernel.solvers",
    "multikernel.solvers.hkl",
    "multikernel.testing",
)


def documented() -> set[str]:
    """Return the last parts of all names that the reference lists."""
    pages = (ROOT / "docs" / "api").glob("*.rst")
    return {name.rsplit(".", 1)[-1] for page in pages for name in listed(page)}


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


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    missing = sorted(set(public_objects(module)) - documented())
    assert not missing, f"docs/api lacks {missing} of {module}"


def test_every_name_that_a_docstring_mentions_is_in_the_reference():
    known, everything, missing = documented(), defined(), {}
    for module in PUBLIC:
        for owner, item in public_objects(module).items():
            for name in re.findall(
                r"(?<!`)`([A-Za-z_]\w*)`(?!`)", inspect.getdoc(item)
            ):
                own = name in inspect.signature(item).parameters or hasattr(item, name)
                if name in everything and name not in known and not own:
                    missing.setdefault(name, owner)
    assert not missing, f"mentioned, but not in docs/api: {missing}"


def test_every_name_that_a_message_mentions_is_in_the_reference():
    known, everything, missing = documented(), defined(), {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                for text in _texts(node.exc):
                    for name in re.findall(r"\b[A-Z][a-z]+[A-Z]\w+\b", text):
                        if name in everything and name not in known:
                            missing.setdefault(name, path.name)
    assert not missing, f"mentioned, but not in docs/api: {missing}"


def _texts(node: ast.AST) -> list[str]:
    constants = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
    return [part.value for part in constants if isinstance(part.value, str)]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.rst")))
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
