"""Run the tests as other processors and other versions of Python would.

Usage: python .ci/portable.py [--write FILE] [configuration ...] [-- pytest's arguments]

Without names all configurations run, one after the other, whatever fails. OpenBLAS,
NumPy and numba choose their code by the processor, and environment variables make them
choose that of an older one. What was really chosen is printed and put into the table.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = ("Nehalem", "Sandybridge", "Haswell", "SkylakeX")
VERSIONS = ("3.12", "3.13")
CONFIGURATIONS = (*CORES, "generic", *(f"python-{version}" for version in VERSIONS))
COLUMNS = (
    "configuration", "Python", "OpenBLAS", "NumPy", "numba", "passed", "failed", "on"
)  # fmt: skip

ACTIVE = """
import json, platform
import numpy as np, scipy.linalg
from numba.core.registry import cpu_target
from threadpoolctl import threadpool_info
vectors = np.show_config(mode="dicts")["SIMD Extensions"]
cores = {p["architecture"] for p in threadpool_info() if p["user_api"] == "blas"}
print(json.dumps({
    "Python": platform.python_version(),
    "OpenBLAS": " ".join(sorted(cores)),
    "NumPy": " ".join([np.__version__, *(vectors.get("found") or vectors["baseline"])]),
    "numba": cpu_target.target_context.codegen().magic_tuple()[1],
}))
"""
WIDE = """
import numpy as np
print(*np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
"""


def said(python: str | Path, code: str, environment: dict[str, str]) -> str:
    """Return what a line of Python prints in an environment."""
    command = [str(python), "-c", code]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@contextmanager
def settings(configuration: str, python: Path) -> Iterator[dict[str, str]]:
    """Lend the environment of a configuration."""
    # One BLAS thread each: two processes that spin with two take twice as long.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if configuration in CORES:
        environment["OPENBLAS_CORETYPE"] = configuration
    with tempfile.TemporaryDirectory() as cache:
        if configuration == "generic":
            # NumPy's names for wide vectors differ from version to version.
            wide = said(python, WIDE, environment)
            environment["NPY_DISABLE_CPU_FEATURES"] = wide
            environment["NUMBA_CPU_NAME"] = "generic"
            environment["NUMBA_CACHE_DIR"] = cache
        yield environment


def interpreter(configuration: str) -> Path | None:
    """Return the Python of a configuration with all the tests need, or None."""
    version = configuration.removeprefix("python-")
    if version == configuration:
        return Path(sys.executable)
    folder = ROOT / f".venv-{version}"
    python, stamp = folder / "bin" / "python", folder / ".test"
    project = ROOT / "pyproject.toml"
    if not stamp.exists() or stamp.stat().st_mtime < project.stat().st_mtime:
        source = installed(version)
        if source is None:
            return None
        subprocess.run([source, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "-q", "-e", f"{ROOT}[test]"]
        subprocess.run(install, check=True)
        stamp.touch()
    return python


def installed(version: str) -> str | None:
    """Return a Python of a version, from the path or from pyenv, that does start."""
    # On Windows no name on the path has the version.
    if version == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    versions = Path.home() / ".pyenv" / "versions"
    found = sorted(versions.glob(f"{version}.*/bin/python"), reverse=True)
    for python in (shutil.which(f"python{version}"), *map(str, found)):
        # pyenv puts a name on the path for every version, also for those switched off.
        if (
            python
            and not subprocess.run([python, "-c", ""], capture_output=True).returncode
        ):
            return python
    return None


def reason_against(configuration: str) -> str:
    """Return why a configuration cannot run here, or nothing."""
    if configuration == "SkylakeX":
        wide = said(sys.executable, WIDE, dict(os.environ))
        if "AVX512" not in wide and "X86_V4" not in wide:
            return "this processor has no AVX-512"
    if interpreter(configuration) is None:
        return f"{configuration} is not installed"
    return ""


def run(configuration: str, arguments: list[str]) -> dict[str, str]:
    """Run the tests in a configuration and return its row of the table."""
    python = interpreter(configuration)
    assert python is not None
    with (
        settings(configuration, python) as environment,
        tempfile.TemporaryDirectory() as folder,
    ):
        active = json.loads(said(python, ACTIVE, environment))
        shown = "; ".join(f"{name} {value}" for name, value in active.items())
        print(f"\n=== {configuration}: {shown}", flush=True)
        report = Path(folder) / "report.xml"
        command = [python, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
        command += [f"--junitxml={report}", *arguments]
        start = time.monotonic()
        code = subprocess.run(command, env=environment, cwd=ROOT).returncode
        print(f"=== {configuration}: {(time.monotonic() - start) / 60:.1f} minutes")
        passed, failed = counts(report) if report.exists() else (0, 0)
    # A run that ends otherwise than by its tests' failures has failed as well.
    failed = max(failed, int(code != 0))
    row = {"configuration": configuration, **active, "on": time.strftime("%Y-%m-%d")}
    return {**row, "passed": str(passed), "failed": str(failed)}


def counts(report: Path) -> tuple[int, int]:
    """Return the numbers of tests that passed and failed."""
    suite = ET.parse(report).getroot().find("testsuite")
    assert suite is not None
    names = ("tests", "failures", "errors", "skipped")
    tests, failures, errors, skipped = (int(suite.attrib[name]) for name in names)
    return tests - failures - errors - skipped, failures + errors


def write(path: Path, rows: list[dict[str, str]]) -> None:
    """Write rows as CSV; those of configurations that did not run stay as they were."""
    table = {name: {"configuration": name} for name in CONFIGURATIONS}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            table |= {row["configuration"]: row for row in csv.DictReader(file)}
    table |= {row["configuration"]: row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table[name] for name in CONFIGURATIONS)


def show(rows: list[dict[str, str]]) -> None:
    """Print the table."""
    lines = [COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())


def main() -> bool:
    """Run what was asked for; return whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("configurations", nargs="*", help=", ".join(CONFIGURATIONS))
    parser.add_argument("--write", type=Path, help="CSV file for the counts")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options, arguments = parser.parse_args(words[:end]), words[end + 1 :]
    if unknown := set(options.configurations) - set(CONFIGURATIONS):
        parser.error(f"{', '.join(unknown)}: not among {', '.join(CONFIGURATIONS)}.")
    if options.write and arguments:
        parser.error("Only counts of all tests are written.")
    rows: list[dict[str, str]] = []
    left_out = []
    for configuration in options.configurations or CONFIGURATIONS:
        try:
            if reason := reason_against(configuration):
                left_out.append(f"{configuration} was left out: {reason}.")
                continue
            rows.append(run(configuration, arguments))
        except subprocess.CalledProcessError as error:
            print(error, error.stderr or "", sep="\n")
            lost = {"configuration": configuration, "passed": "0", "failed": "1"}
            rows.append({**dict.fromkeys(COLUMNS, ""), **lost})
        if options.write:
            write(options.write, rows)
    print()
    show(rows)
    print(*left_out, sep="\n")
    return any(row["failed"] != "0" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
