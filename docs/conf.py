"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "multikernel"
author = "The multikernel developers"
project_copyright = "2026, the multikernel developers"
release = installed_version("multikernel")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Multiple kernel learning with certified optimality",
    "fixed_sidebar": True,
}

autosummary_generate = True
# autosummary lists the members; a second list by numpydoc would repeat them.
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"  # numpydoc's text gives the types, with shapes
# Docstrings inherited from scikit-learn point into its own user guide.
suppress_warnings = ["ref.ref"]
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
