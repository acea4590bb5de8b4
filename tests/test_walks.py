"""The five walks of docs/walks.md hold every file that a default fit runs."""

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import multikernel
from multikernel.estimators import (
    GroupOMPClassifier,
    HKLRegressor,
    LocalRademacherMKLClassifier,
    LpMKLClassifier,
    SpicyMKLClassifier,
)

ROOT = Path(__file__).parents[1]
PACKAGE = Path(multikernel.__file__).parent
PAGE = (ROOT / "docs" / "walks.md").read_text(encoding="utf-8")
INTRODUCTION, *WALKS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
ROOMS = re.findall(r"^- (`[^:]+`): (\S.+)$", INTRODUCTION, flags=re.MULTILINE)
MOST_ROOMS = 8
MOST_FILES = 12
MOST_CODE = 1900

METHODS: dict[str, type] = {
    "SpicyMKL": SpicyMKLClassifier,
    "lp-norm MKL": LpMKLClassifier,
    "Group-OMP": GroupOMPClassifier,
    "HKL": HKLRegressor,
    "Local Rademacher complexity": LocalRademacherMKLClassifier,
}


def files_of(walk: str) -> list[str]:
    """Return the files of a walk, as paths inside the package."""
    return re.findall(r"`src/multikernel/([\w/]+\.py)`", walk)


def lines_of_code(path: Path) -> int:
    """Return the lines that are neither blank nor comments nor parts of docstrings."""
    text = path.read_text(encoding="utf-8")
    prose = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            alone = isinstance(statement, ast.Expr)
            if alone and isinstance(statement.value, ast.Constant):
                prose.update(range(statement.lineno, statement.end_lineno + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(s) and s[0] != "#" and n not in prose for n, s in lines)


def in_a_room(path: str) -> bool:
    """Return whether a file is in a side room."""
    patterns = re.findall(r"`([^`]+)`", " ".join(paths for paths, _ in ROOMS))
    for pattern in patterns:
        folder, star, _ = pattern.partition("*")
        if star and Path(path).parent == Path(folder):
            return True
        if path == pattern or (pattern.endswith("/") and path.startswith(pattern)):
            return True
    return False


def files_that_run(call: Callable[[], object]) -> set[str]:
    """Return the files of the package whose functions run, as paths inside it."""
    seen: set[str] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and not frame.f_code.co_name.startswith("<"):
            seen.add(frame.f_code.co_filename)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    inside = [Path(name) for name in seen if Path(name).is_relative_to(PACKAGE)]
    return {path.relative_to(PACKAGE).as_posix() for path in inside}


def test_there_is_a_walk_for_every_paper():
    assert [walk.splitlines()[0] for walk in WALKS] == list(METHODS)
    assert 1 <= len(ROOMS) <= MOST_ROOMS


@pytest.mark.parametrize("walk", WALKS, ids=list(METHODS))
def test_walks_are_short_and_lead_somewhere(walk):
    files = files_of(walk)
    assert files == sorted(set(files), key=files.index)
    assert [name for name in files if not (PACKAGE / name).exists()] == []
    assert len(files) <= MOST_FILES
    assert sum(lines_of_code(PACKAGE / name) for name in files) <= MOST_CODE


@pytest.mark.parametrize("name", METHODS)
def test_a_default_fit_stays_on_its_walk(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = X[:, 0] * X[:, 1]
    if name != "HKL":
        y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1)
    model = METHODS[name]()
    model.fit(X, y)  # what is loaded or compiled once is no part of a walk
    walk = WALKS[list(METHODS).index(name)]
    if "on the walk of lp-norm MKL" in walk:
        walk += WALKS[list(METHODS).index("lp-norm MKL")]
    ran = files_that_run(lambda: model.fit(X, y))
    astray = sorted(p for p in ran if p not in files_of(walk) and not in_a_room(p))
    assert astray == []
