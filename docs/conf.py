"""Sphinx configuration."""

import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils.nodes import Text, document
from sklearn.base import BaseEstimator
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.ext.autosummary import autosummary_table
from sphinx_gallery.sorting import ExplicitOrder

from multikernel._install import DOCUMENTATION

project = "multikernel"
author = "The multikernel developers"
project_copyright = "2026, the multikernel developers"
release = installed_version("multikernel")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "architecture.md", "walks.md"]
templates_path = ["_templates"]

html_baseurl = DOCUMENTATION
html_theme = "pydata_sphinx_theme"
html_title = "multikernel"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "multikernel"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
# The first pages have no siblings to list beside them.
html_sidebars = {"index": [], "install": [], "quickstart": []}

# Formulas are set by a copy of MathJax that travels with the pages: they read offline.
_MATHJAX = find_spec("sphinx-mathjax-offline")
if _MATHJAX is None or _MATHJAX.origin is None:
    raise ModuleNotFoundError("The site needs sphinx-mathjax-offline: pip install it.")
html_static_path.append(str(Path(_MATHJAX.origin).parent / "static"))
mathjax_path = "mathjax/tex-chtml.js"

# What most people look for first; the others follow by their names.
FIRST = ("plot_first_model.py", "plot_choosing_alpha.py", "plot_norms.py")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": ExplicitOrder([*FIRST, "*"]),
    "capture_repr": ("_repr_html_",),  # tables, but no addresses of objects
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("multikernel",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 10,
    "show_signature": False,
}
default_role = "py:obj"
autosummary_generate = True
# autosummary lists the members; a second list by numpydoc would repeat them.
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"  # numpydoc's text gives the types, with shapes
myst_heading_anchors = 3
# Docstrings inherited from scikit-learn point into its own user guide and glossary, the
# files of the repository that are shown here name their neighbors by paths, and the
# gallery's settings hold classes, which no cache can keep.
suppress_warnings = ["ref.ref", "ref.term", "myst.xref_missing", "config.cache"]
copybutton_exclude = ".linenos, .gp, .go"  # prompts, and what was printed
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]


def number_citations(app: Sphinx, doctree: document) -> None:
    """Say [1] in lists of summaries, where numpydoc leaves labels of its own."""
    for summaries in doctree.findall(autosummary_table):
        for reference in summaries.findall(pending_xref):
            if reference.get("refdomain") == "citation":
                number = reference.astext().rpartition("-")[2]
                reference[0][0] = Text(f"[{number}")


def show_parameters(
    app: Sphinx, what: str, name: str, documented: Any, *shown: Any
) -> tuple[str, None] | None:
    """Show the parameters of an estimator; autodoc shows those of `__new__`."""
    if what != "class" or not issubclass(documented, BaseEstimator):
        return None
    parameters = inspect.signature(documented).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return str(inspect.Signature(plain)), None


def provisional_names() -> Iterator[str]:
    """Yield the full names that the provisional pages of the reference list."""
    for page in sorted((Path(__file__).parent / "api" / "provisional").glob("*.rst")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif module and re.fullmatch(r"   [A-Za-z_][\w.]*", line):
                yield f"{module}.{line.strip()}"


PROVISIONAL = frozenset(provisional_names())


def mark_provisional(app: Sphinx, page: str, source: list[str]) -> None:
    """Say on the pages of provisional names, and of their methods, what they are."""
    folder, _, name = page.rpartition("/")
    if folder == "generated" and PROVISIONAL & {name, name.rpartition(".")[0]}:
        mark = "Provisional: may change in any minor version.\n\n.. auto"
        source[0] = source[0].replace(".. auto", mark, 1)


def write_index_for_machines(app: Sphinx, error: Exception | None) -> None:
    """Write llms.txt: the pages in the order of the contents, as plain text."""
    if error or app.builder.format != "html":
        return
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    about = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lines = [f"# {project} {release}", "", f"> {about['description']}", ""]
    lines += indexed_pages(app, str(app.config.root_doc), 0)
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def indexed_pages(app: Sphinx, page: str, depth: int) -> Iterator[str]:
    """List a page and those below it; methods are on the pages of their classes."""
    title = app.env.titles[page].astext()
    address = f"{DOCUMENTATION}{app.builder.get_target_uri(page)}"
    yield f"{'  ' * depth}- [{title}]({address})"
    if not page.startswith("generated/"):
        for below in app.env.toctree_includes.get(page, []):
            yield from indexed_pages(app, below, depth + 1)


def setup(app: Sphinx) -> None:
    """Register what this file adds to Sphinx."""
    app.connect("doctree-read", number_citations)
    app.connect("source-read", mark_provisional)
    app.connect("autodoc-process-signature", show_parameters)
    app.connect("build-finished", write_index_for_machines)
