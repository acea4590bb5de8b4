"""Build what is uploaded, and try it as a stranger would.

Usage: python .ci/release.py [--all] [step ...]

Steps, in their order; without names all run, whatever fails, and a table says how long
each took:

build    sdist and wheel into dist/, and what an index would refuse of them; the conda
         recipe with the hash of the sdist; lists the placeholders to fill in before the
         first upload
wheel    the wheel alone, in an empty environment of every Python that is installed
         here, runs the README's first block in an empty folder
extras   each extra by itself brings what it is for
sdist    unpacked in an empty folder, with the newest versions of all it needs, the
         sdist passes its own tests
lowest   the same with the lowest versions that pyproject.toml allows
upgrade  a model that this version saved is read by the next one, and predicts the same

Tests are a fast part of all unless --all is given.
"""

import argparse
import contextlib
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from portable import installed
from unfilled import report, unfilled

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LOWEST_PYTHON = "3.11"
FAST = (
    "tests/interface", "tests/fixtures", "tests/kernels", "tests/losses",
    "tests/test_documents.py", "tests/test_persistence.py", "tests/test_site.py",
    "tests/estimators/test_spicy.py", "tests/estimators/test_lp_norm.py",
)  # fmt: skip
EXTRAS = {
    "cli": "import typer, rich, pandas, pyarrow, skops; "
    "from multikernel.cli import main; sys.argv = ['multikernel', '--help']; main()",
    "plot": "import matplotlib; matplotlib.use('agg'); "
    "mk.display.KernelWeightsDisplay.from_estimator(model)",
    "persistence": "mk.save(model, 'model.skops'); "
    "assert (mk.load('model.skops').predict(X) == model.predict(X)).all()",
    "dask": "import dask.array, dask.dataframe, distributed",
    "device": "from multikernel.gram import Device; "
    "mk.SpicyMKLRegressor(storage=Device('numpy')).fit(X, X[:, 0])",
    "shap": "from multikernel.inspection import shapley_values; "
    "shapley_values(model, X[:3], X).explanation()",
}
"""What each extra is for, after a fit: other extras are for work on the library."""

FIT = """
import sys
import numpy as np, multikernel as mk
X = np.random.default_rng(0).standard_normal((30, 3))
model = mk.SpicyMKLRegressor().fit(X, X[:, 0])
"""
SAVE = FIT + "mk.save(model, 'model.skops'); np.save('said.npy', model.predict(X))"
LOAD = """
import warnings
import numpy as np, multikernel as mk
X = np.random.default_rng(0).standard_normal((30, 3))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = mk.load("model.skops")
assert [type(w.message).__name__ for w in caught] == ["VersionWarning"], caught
np.testing.assert_array_equal(model.predict(X), np.load("said.npy"))
"""


class FailedError(Exception):
    """A step found something that must not be uploaded; the message says what."""


@dataclass
class Trial:
    """Where a step works, and what it has to say."""

    folder: Path
    every_test: bool
    notes: list[str] = field(default_factory=list)

    def environment(self, name: str, python: str | Path, *wanted: str | Path) -> Path:
        """Return the Python of a new environment with some packages installed."""
        home = self.folder / name
        # One pip serves all: to give each its own, or to compile what most never
        # import, takes longer than the packages.
        run([python, "-m", "venv", "--without-pip", home], self.folder)
        inside = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.install(inside, *wanted)
        return inside

    def install(self, python: Path, *wanted: str | Path) -> None:
        """Install packages, or newer versions of them, for a Python."""
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
        run([*pip, "--no-compile", "--upgrade", *wanted], self.folder)

    def empty(self, name: str) -> Path:
        """Return a new empty folder."""
        (self.folder / name).mkdir()
        return self.folder / name


def run(line: list[str | Path], where: Path, *, show: bool = False) -> str:
    """Run a command in a folder; return what it printed, or say how it failed."""
    # One BLAS thread each: two processes that spin with two take twice as long.
    one = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": "",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    done = subprocess.run(
        line, cwd=where, env={**os.environ, **one}, text=True, encoding="utf-8",
        stdout=None if show else subprocess.PIPE,
        stderr=None if show else subprocess.PIPE,
    )  # fmt: skip
    if done.returncode:
        told = "" if show else f":\n{(done.stdout + done.stderr)[-3000:]}"
        raise FailedError(f"{' '.join(map(str, line))[:200]} failed{told}")
    return done.stdout or ""


def only(pattern: str) -> Path:
    """Return the one file of dist/ with a name, of the version in pyproject.toml."""
    found = list(DIST.glob(f"multikernel-{PROJECT['version']}{pattern}"))
    if len(found) != 1:
        raise FailedError(
            f"dist/ has {len(found)} files *{pattern}: run the step build"
        )
    return found[0]


def with_hash(recipe: str, source: Path) -> str:
    """Return the recipe of the conda package with the hash of the sdist."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    (address,) = re.findall(r"^  url: .+\n", recipe, re.MULTILINE)
    return recipe.replace(address, f"{address}  sha256: {digest}\n")


def build(trial: Trial) -> None:
    """Build into an empty dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    python = trial.environment("build", sys.executable, "build", "twine")
    run([python, "-m", "build", "--outdir", DIST, ROOT], trial.folder)
    files = (only(".tar.gz"), only("-py3-none-any.whl"))
    run([python, "-m", "twine", "check", "--strict", *files], trial.folder)
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    (DIST / "recipe.yaml").write_text(with_hash(recipe, files[0]), encoding="utf-8")
    trial.notes += [f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in files]
    # Only the release workflow fails for a placeholder, once there is a tag.
    if gaps := unfilled():
        print(report(gaps), flush=True)


def wheel(trial: Trial) -> None:
    """Run the README's first block with the wheel alone."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code, said = re.findall(r"```(?:python|text)\n(.*?)```", readme, re.DOTALL)[:2]
    for version in PYTHONS:
        source = installed(version)
        if source is None:
            trial.notes.append(f"no Python {version} here")
            continue
        python = trial.environment(version, source, only("-py3-none-any.whl"))
        where = trial.empty(f"readme-{version}")
        (where / "readme.py").write_text(code, encoding="utf-8")
        printed = run([python, "-X", "utf8", "readme.py"], where)
        if printed != said:
            raise FailedError(f"Python {version}: the README's block said\n{printed}")
        trial.notes.append(f"Python {version}")


def extras(trial: Trial) -> None:
    """Install each extra by itself, and use what it is for."""
    others = {"docs", "test", "dev"}
    if missing := set(PROJECT["optional-dependencies"]) - set(EXTRAS) - others:
        raise FailedError(f"no code tries the extras {', '.join(sorted(missing))}")
    for name, code in EXTRAS.items():
        target = f"{only('-py3-none-any.whl')}[{name}]"
        python = trial.environment(name, sys.executable, target)
        run([python, "-c", FIT + code], trial.empty(f"use-{name}"))
        trial.notes.append(name)


def unpacked(where: Path) -> Path:
    """Return the folder into which the sdist was unpacked."""
    with tarfile.open(only(".tar.gz")) as archive:
        archive.extractall(where, filter="data")
    return next(where.iterdir())


def tested(trial: Trial, source: str | Path, *constraints: str | Path) -> None:
    """Run the tests of the unpacked sdist with a Python."""
    where = unpacked(trial.empty("unpacked"))
    python = trial.environment("tests", source, *constraints, "-e", f"{where}[test]")
    line: list[str | Path] = [python, "-m", "pytest", "-q", "-n", "2"]
    line += ["--dist", "worksteal", *(() if trial.every_test else FAST)]
    run(line, where, show=True)


def sdist(trial: Trial) -> None:
    """Test the sdist with the newest versions of all it needs."""
    tested(trial, sys.executable)


def lowest(trial: Trial) -> None:
    """Test the sdist with the lowest versions that are allowed."""
    source = installed(LOWEST_PYTHON)
    if source is None:
        raise FailedError(f"Python {LOWEST_PYTHON} is not installed")
    line: list[str | Path] = [sys.executable, ROOT / ".ci" / "lowest.py"]
    bounds = run([*line, ROOT / "pyproject.toml"], trial.folder)
    constraints = trial.folder / "constraints.txt"
    constraints.write_text(bounds, encoding="utf-8")
    tested(trial, source, "-c", constraints)


def upgrade(trial: Trial) -> None:
    """Save with this version, and load with the next one."""
    built = f"{only('-py3-none-any.whl')}[persistence]"
    python = trial.environment("before", sys.executable, built, "build")
    where = trial.empty("models")
    run([python, "-c", SAVE], where)
    following = unpacked(trial.empty("following"))
    for name in ("pyproject.toml", "src/multikernel/__init__.py"):
        path = following / name
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"{PROJECT["version"]}"', '"999.0.0"'), "utf-8")
    run([python, "-m", "build", "--wheel", following], trial.folder)
    (later,) = (following / "dist").glob("*.whl")
    trial.install(python, later)
    run([python, "-c", LOAD], where)


STEPS: dict[str, Callable[[Trial], None]] = {
    step.__name__: step for step in (build, wheel, extras, sdist, lowest, upgrade)
}


def rows(
    names: list[str], *, every_test: bool
) -> Iterator[tuple[str, str, float, str]]:
    """Run steps; yield name, outcome, minutes and notes of each."""
    for name in names:
        print(f"=== {name}", flush=True)
        start, outcome = time.monotonic(), "passed"
        # Windows keeps files of processes that have just ended.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            trial = Trial(Path(folder).resolve(), every_test)
            try:
                STEPS[name](trial)
            except FailedError as error:
                outcome = "FAILED"
                print(error, flush=True)
        yield name, outcome, (time.monotonic() - start) / 60, ", ".join(trial.notes)


def main() -> bool:
    """Run what was asked for; return whether anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", nargs="*", metavar="step", help=", ".join(STEPS))
    parser.add_argument("--all", action="store_true", help="run every test, not some")
    options = parser.parse_args()
    if unknown := set(options.steps) - set(STEPS):
        parser.error(f"{', '.join(unknown)}: not among {', '.join(STEPS)}.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    table = list(rows(options.steps or list(STEPS), every_test=options.all))
    print()
    for name, outcome, minutes, notes in table:
        print(f"{name:8} {outcome}  {minutes:5.1f} minutes  {notes}")
    return any(outcome == "FAILED" for _, outcome, _, _ in table)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit("Stopped.")
