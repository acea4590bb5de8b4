"""List the placeholders that must be filled in before the first upload.

Usage: python .ci/unfilled.py

The exit status is 1 if there are any. docs/project/release.md shows the form of each
value.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMS = {
    "src/multikernel/_install.py": {
        "PACKAGE": r'^PACKAGE = "multikernel"$',
        "PLACE": r'^PLACE = ""$',
        "DOCUMENTATION": r'^DOCUMENTATION = "https://\S+/"$',
    },
    "pyproject.toml": {
        "Documentation": r'^Documentation = "https://\S+/"$',
        "Source": r'^Source = "https://\S+"$',
        "Issues": r'^Issues = "https://\S+"$',
        "Changelog": r'^Changelog = "https://\S+"$',
    },
    "CITATION.cff": {"repository-code": r"^repository-code: \S*https://\S+$"},
    "conda/recipe.yaml": {
        "homepage": r"^ +homepage: \S*https://\S+$",
        "repository": r"^ +repository: \S*https://\S+$",
    },
    "SECURITY.md": {"address for private reports": r"https://\S+|\S+@\S+"},
    "CODE_OF_CONDUCT.md": {"address for private reports": r"https://\S+|\S+@\S+"},
    ".github/CODEOWNERS": {"reviewers": r"^[^#\s].*@\S+$"},
}
"""Pattern of each value, by file and name."""

LINK = re.compile(r"\]\(([^)\s]+)")
EXAMPLE = "OWNER"
"""A value with this word was copied from the page and not changed."""


def unfilled() -> list[str]:
    """Return the file and the name of each placeholder, and the README's links."""
    gaps = []
    for file, forms in FORMS.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        for name, form in forms.items():
            match = re.search(form, text, flags=re.MULTILINE)
            if match is None or EXAMPLE in match[0]:
                gaps.append(f"{file}: {name}")
    # The index shows the README, where relative links lead nowhere.
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    return gaps + [
        f"README.md: link to {link}"
        for link in links
        if not link.startswith("https://") or EXAMPLE in link
    ]


def report(gaps: list[str]) -> str:
    """Return the placeholders as a list of lines."""
    title = "Before the first upload, fill in (see docs/project/release.md):"
    return "\n- ".join([title, *gaps])


if __name__ == "__main__" and (gaps := unfilled()):
    sys.exit(report(gaps))
