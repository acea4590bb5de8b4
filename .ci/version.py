"""Give the library a version everywhere.

Usage: python .ci/version.py 1.0.0

A version without "dev" is dated today, in CITATION.cff and in CHANGELOG.md, where it
names the section Unreleased or that of its release candidates; the same version again
changes the date. The first version with "dev" after it begins the next section. A lower
version is refused.
"""

import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "src/multikernel/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "conda/recipe.yaml": r'^  version: "(.+)"$',
}
NUMBER = "(0|[1-9][0-9]*)"
VERSION = rf"{NUMBER}\.{NUMBER}\.{NUMBER}(?:(\.dev|rc){NUMBER})?"
STAGES = (".dev", "rc", None)
"""Suffixes of a version, in their order; a release has none."""


def replaced(path: Path, pattern: str, text: str) -> None:
    """Put a text where a pattern has its group, which stands once in a file."""
    before = path.read_text(encoding="utf-8")
    (match,) = re.finditer(pattern, before, flags=re.MULTILINE)
    after = before[: match.start(1)] + text + before[match.end(1) :]
    path.write_text(after, encoding="utf-8")


def rank(version: str) -> list[int]:
    """Return a sort key of a version, or exit if the form is wrong."""
    match = re.fullmatch(VERSION, version)
    if match is None:
        sys.exit(
            f"{version!r} is not a version such as 1.0.0, 1.1.0.dev0 or 1.1.0rc1: use "
            "three numbers without leading zeros, and no suffix but .dev0 or rc1."
        )
    *numbers, stage, count = match.groups()
    return [*map(int, numbers), STAGES.index(stage), int(count or 0)]


def check_order(version: str) -> None:
    """Exit if a version is lower than that of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (current,) = re.findall(PLACES["pyproject.toml"], text, flags=re.MULTILINE)
    if rank(version) < rank(current):
        sys.exit(
            f"{version} is lower than {current}, the version in pyproject.toml: use "
            f"{current} or a higher version."
        )


def main(version: str) -> None:
    """Write a version into every file that states it."""
    check_order(version)
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    final = re.escape(version.partition("rc")[0])
    section = rf"^## (Unreleased|{final}(?:rc\d+)? \(.+\))$"
    sections = re.findall(section, text, flags=re.MULTILINE)
    if "dev" not in version and len(sections) != 1:
        found = " and ".join(sections) or "no section Unreleased"
        sys.exit(f"CHANGELOG.md must have one section for {version}, has {found}.")
    for name, pattern in PLACES.items():
        replaced(ROOT / name, pattern, version)
    if "dev" not in version:
        today = time.strftime("%Y-%m-%d")
        replaced(changelog, section, f"{version} ({today})")
        replaced(ROOT / "CITATION.cff", "^date-released: (.+)$", today)
        major = version.partition(".")[0]
        status = "5 - Production/Stable" if major != "0" else "3 - Alpha"
        pattern = r'^    "Development Status :: (.+)",$'
        replaced(ROOT / "pyproject.toml", pattern, status)
    elif "## Unreleased" not in text:
        above, newest, below = text.partition("## ")
        changelog.write_text(f"{above}## Unreleased\n\n{newest}{below}", "utf-8")
    print(f"Version {version} is in {', '.join(PLACES)}.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
