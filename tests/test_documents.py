"""The documents tell the truth: code runs, prints what they say, links hold."""

import contextlib
import doctest
import io
import re
import tomllib
import warnings
from pathlib import Path

import pytest

import multikernel
from multikernel.persistence.archive import FORMAT

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").rglob("*.rst"))
MARKDOWN = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
MARKDOWN += [ROOT / "docs" / name for name in ("architecture.md", "walks.md")]


def test_readme_code_prints_what_the_readme_says():
    blocks = re.findall(r"```(python|text)\n(.*?)```", README, flags=re.DOTALL)
    code = [text for language, text in blocks if language == "python"]
    said = [text for language, text in blocks if language == "text"]
    assert len(code) == len(said) >= 3
    namespace = {"__name__": "readme"}
    for source, expected in zip(code, said, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")  # what a newcomer runs first is clean
            exec(compile(source, "README.md", "exec"), namespace)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_examples_of_the_documentation(page):
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.failed == 0


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    inside = [link for link in links if not link.startswith("http")]
    missing = [link for link in inside if not (page.parent / link).exists()]
    assert missing == []


def test_the_page_on_files_has_their_format():
    page = (ROOT / "docs" / "user_guide" / "persistence.rst").read_text("utf-8")
    assert f"it is {FORMAT} in this one" in page


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    stated = re.search(r"^version: (.+)$", citation, flags=re.MULTILINE)
    assert multikernel.__version__ == project["project"]["version"] == stated[1]
