"""Writes shared descriptions into the docstrings of estimators."""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import multikernel

FOLDER = Path(multikernel.__file__).parent / "estimators"
DESCRIPTIONS = tomllib.loads(
    Path(__file__).with_name("descriptions.toml").read_text(encoding="utf-8")
)
SECTION = re.compile(
    r"(?<=\n)((?:Parameters|Attributes)\n-+\n)(.*?)(?=\n\n\S|\Z)", re.S
)


def completed_files() -> Iterator[tuple[Path, str]]:
    """Yield each file that has estimators, and its text with all descriptions."""
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        names = _class_names(text) & DESCRIPTIONS["classes"].keys()
        for name in names:
            text = _completed(text, name)
        if names:
            yield path, text


def _class_names(text: str) -> set[str]:
    return {
        node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)
    }


def _completed(text: str, name: str) -> str:
    """Return the text of a module with the docstring of a class completed."""
    docstring = next(
        node.body[0]
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    lines = text.splitlines()
    rows = slice(docstring.lineno - 1, docstring.end_lineno)
    written = textwrap.dedent("\n".join(lines[rows]))
    shared = _shared(name)
    filled = SECTION.sub(lambda found: found[1] + _filled(found[2], shared), written)
    lines[rows] = textwrap.indent(filled, "    ").splitlines()
    return "\n".join(lines) + "\n"


def _shared(name: str) -> dict[str, str]:
    """Return the descriptions that a class shares, by name."""
    listed = DESCRIPTIONS["classes"][name]
    entries: dict[str, str] = {}
    for section in listed["sections"]:
        entries |= _entries(DESCRIPTIONS["descriptions"][section])
    return {key: entry for key, entry in entries.items() if key not in listed["own"]}


def _filled(section: str, shared: Mapping[str, str]) -> str:
    return "\n".join(shared.get(key, entry) for key, entry in _entries(section).items())


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section by name."""
    entries = re.split(r"\n(?=\S)", text.strip("\n"))
    return {entry.partition(" :")[0]: entry for entry in entries}
