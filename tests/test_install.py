"""Install lines of texts are those of one place, and work in an empty environment."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from multikernel import __version__
from multikernel._install import PACKAGE, PLACE, how_to_install, install_line

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]["optional-dependencies"]
TEXTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.rst")),
    *sorted((ROOT / "examples").rglob("*.py")),
]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
OTHERS = ("pandas",)
"""Libraries that are installed by themselves."""

CLONE = re.compile(
    r"\bpackage\s+index\b|\b(?:in|without)\s+(?:a|the)\s+clone\b", re.IGNORECASE
)
"""Wordings of texts that are true only while the library is on no package index."""

# CONTRIBUTING.md is for work in a clone, and the page on releases is about the index.
PROSE = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.rst"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.py"),
        ROOT / "src" / "multikernel" / "_install.py",
    }
    - {ROOT / "CONTRIBUTING.md", ROOT / "docs" / "project" / "release.md"}
)
LINE = re.compile(r"pip install (\"[^\"]+\"|'[^']+'|\w+|\.)")
WHEEL = '"$(ls dist/multikernel-*.whl)[cli,plot]"'


def install_lines(path):
    return [match[0] for match in LINE.finditer(path.read_text(encoding="utf-8"))]


def test_texts_take_their_lines_from_one_place():
    allowed = {install_line(), f"pip install {WHEEL}"}
    allowed |= {install_line(extra) for extra in EXTRAS} | {install_line("cli", "plot")}
    lines = [(path, line) for path in TEXTS for line in install_lines(path)]
    assert len(lines) >= 8
    wrong = [
        f"{path.relative_to(ROOT).as_posix()}: {line}"
        for path, line in lines
        if line not in allowed
    ]
    assert not wrong, "\n".join(["other lines than in _install.py:", *wrong])


def test_messages_take_their_lines_from_there_too():
    place = ROOT / "src" / "multikernel" / "_install.py"
    others = {f"pip install {name}" for name in OTHERS}
    lines = {path: set(install_lines(path)) - others for path in SOURCES}
    assert [path.name for path, found in lines.items() if found and path != place] == []
    users = [path for path in SOURCES if "how_to_install(" in path.read_text("utf-8")]
    asked = re.findall(
        r"how_to_install\([\"'](\w+)[\"']\)",
        "".join(path.read_text(encoding="utf-8") for path in users),
    )
    assert len(asked) >= 5
    assert set(asked) <= set(EXTRAS)


def test_only_this_place_says_where_the_library_comes_from():
    # With an index: every line names the library, and no clone is spoken of.
    states = {".": "in a clone of multikernel, run ", "multikernel": ""}
    assert states[PACKAGE] == PLACE
    assert how_to_install("plot") == f"{PLACE}pip install '{PACKAGE}[plot]'"


def wordings_of_a_clone():
    """Return the path, line number and words of each text that requires a clone."""
    found = []
    for path in PROSE:
        text = path.read_text(encoding="utf-8")
        for match in CLONE.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            words = " ".join(match[0].split())
            found.append(f"{path.relative_to(ROOT).as_posix()}:{number}: {words}")
    return found


def test_texts_agree_on_whether_the_library_is_on_an_index():
    places = wordings_of_a_clone()
    if PACKAGE == ".":
        named = {place.partition(":")[0] for place in places}
        assert named == {
            "README.md",
            "docs/index.rst",
            "docs/install.rst",
            "docs/quickstart.rst",
            "src/multikernel/_install.py",
        }
    else:
        title = f"pip installs {PACKAGE} from an index, but these texts do not:"
        assert not places, "\n".join([title, *places])


def sources():
    """Return the names of the files that git has, or of an unpacked sdist."""
    if (ROOT / ".git").exists():
        files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
        return files.splitlines()
    names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return [name for name in names if not name.parts[0].startswith(".venv")]


class Environment:
    """A virtual environment, and a copy of the repository without what was built."""

    def __init__(self, folder):
        self.clone = folder / "clone"
        for name in sources():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.clone / name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        path = os.pathsep.join([str(folder / "venv" / "bin"), os.environ["PATH"]])
        unset = {"PYTHONPATH", "VIRTUAL_ENV"}
        environment = {k: v for k, v in os.environ.items() if k not in unset}
        self.environment = environment | {"PATH": path}
        if PACKAGE != ".":
            self.take_the_library_from_the_clone(folder)

    def take_the_library_from_the_clone(self, folder):
        """Let pip install a wheel of the clone: no index has this version yet."""
        assert self.run(f"pip wheel -q --no-deps --wheel-dir {folder} .")[0] == 0
        constraints = folder / "constraints.txt"
        constraints.write_text(f"{PACKAGE}=={__version__}\n", encoding="utf-8")
        self.environment["PIP_CONSTRAINT"] = str(constraints)
        self.environment["PIP_FIND_LINKS"] = str(folder)

    def run(self, line):
        """Run a line of a shell in the clone; return its code and all it says."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.clone,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout


def console(path):
    """Return the lines of a document that a reader types."""
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^ *\$ ((?:pip|multikernel demo).*)$", text, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_lines_work_in_an_empty_environment(tmp_path):
    """Minutes and 500 MB: libraries come from the index that pip is set to."""
    empty = Environment(tmp_path)
    assert empty.run(install_line())[0] == 0
    plot = "python -c 'from multikernel.display._style import pyplot; pyplot()'"
    save = "python -c 'import multikernel; multikernel.save(1, \"one.skops\")'"
    # Skops comes with the command line, too.
    for line in (save, plot, "multikernel --help"):
        code, said = empty.run(line)
        assert code == 1, said
        # What the message names is what mends it.
        named = LINE.search(said)
        assert named is not None, said
        assert empty.run(named[0])[0] == 0
        assert empty.run(line)[0] == 0
    lines = [*console(ROOT / "README.md"), *console(ROOT / "docs" / "install.rst")]
    # Once there is an index, the page need not say how to build a wheel.
    assert f"pip install {WHEEL}" in lines or PACKAGE != "."
    assert "multikernel demo" in lines
    for line in lines:
        code, said = empty.run(line)
        assert code == 0, f"{shlex.quote(line)}: {said}"
    assert (
        "site-packages"
        in empty.run("cd /; python -c 'import multikernel as m; print(m.__file__)'")[1]
    )
