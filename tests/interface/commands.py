"""The command line, as lines: commands, options, and the keys of their JSON."""

import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from command_line import command_tree, run_command

from multikernel.cli._methods import METHODS
from multikernel.losses import LOSSES

LABELS = ("well", "ill")
RUNS = (
    "fit {csv} -t outcome --drop amount --view body=age,width --view drug=dose "
    "-o {folder}/model.skops",
    "fit {csv} -t amount --drop outcome --method lp --cv 2 -o {folder}/lp.skops",
    "predict {folder}/model.skops {csv} --proba",
    "score {folder}/model.skops {csv} -t outcome",
    "path {csv} -t outcome --drop amount --n-alphas 3",
    "compare {csv} -t outcome --drop amount --method spicy --folds 2",
    "inspect {folder}/model.skops",
)


def command_lines() -> Iterator[str]:
    """Describe every command with its options."""
    command = command_tree()
    yield from _option_lines("multikernel", command)
    for name, part in sorted(command.commands.items()):
        yield from _option_lines(f"multikernel {name}", part)
    yield f"words of --method: {', '.join(METHODS)}"
    yield f"words of --loss: {', '.join(LOSSES)}"


def _option_lines(name: str, command: Any) -> Iterator[str]:
    yield f"command {name}"
    # Arguments by their order, which counts; options by their names.
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    for argument in arguments:
        yield f"    {argument.name.upper()}{_required(argument)}"
    for option in sorted(options, key=lambda option: option.opts[0]):
        names = "/".join([*option.opts, *option.secondary_opts])
        default = "" if option.default in (None, False) else f" = {option.default}"
        yield f"    {names}{default}{_required(option)}"


def _required(parameter: Any) -> str:
    return " (required)" if parameter.required else ""


def json_lines() -> Iterator[str]:
    """Run every command that has JSON on a small table, and list the keys."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        csv = folder / "patients.csv"
        _table().to_csv(csv, index=False)
        for line in RUNS:
            words = [word.format(csv=csv, folder=folder) for word in line.split()]
            yield f"json of {' '.join(line.split()).format(csv='CSV', folder='.')}"
            yield from (f"    {key}" for key in sorted(_keys(_printed(words))))


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["age", "dose", "width"])
    X["outcome"] = np.where(np.abs(X["dose"]) > 0.7, *LABELS)
    X["amount"] = np.sin(2 * X["dose"]) + 0.05 * rng.standard_normal(60)
    return X


def _printed(words: list[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # lines on stderr, and no errors
        done = run_command(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def _keys(report: Any, above: str = "") -> set[str]:
    """Return the paths of all keys; those of a list's parts have ``[]``."""
    if isinstance(report, Mapping):
        keys: set[str] = set()
        for key, part in report.items():
            for label in LABELS:
                key = key.replace(f"_{label}", "_LABEL")
            keys.add(above + key)
            if key != "parameters":  # which classes have their own lists of
                keys |= _keys(part, f"{above}{key}.")
        return keys
    if isinstance(report, list):
        return {key for part in report for key in _keys(part, f"{above[:-1]}[].")}
    return set()
