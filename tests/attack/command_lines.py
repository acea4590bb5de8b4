"""Command lines of every command, over mutated files and options.

Each trial runs one command in this process, on files of which one may be odd, with
options that may be. It ends well, or with exit code 1 or 2 and a sentence: no
traceback, and none of Python's own words.
"""

import os
import re
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from attack.hostile_files import VALUES, _prepare as prepare, odd_arrays, odd_table
from attack.hostile_models import scrambled, tree_with_changes
from attack.inputs import INTERNAL
from command_line import command_tree, run_command

MODELS = ("0.skops", "dict.skops", "unfitted.skops", "scaler.skops", "1.skops")
PLACES = (
    ".", "old.csv", "nowhere/at/all", "odd", "odd.png", "odd.xyz", "odd.html", "",
    "data.csv", "data.npz", "0.skops", "link.csv", "link.skops", "/dev/null", "-",
)  # fmt: skip
"""Where results are told to go: folders, what exists, what cannot be, what is read."""

LINKS = {"link.csv": "data.csv", "link.skops": "0.skops"}
"""Names of links, and what they lead to."""

OLD = "what was there before\n"

COMMANDS = ("fit", "path", "predict", "report", "inspect", "compare", "demo")
SHARES = (0.22, 0.2, 0.2, 0.2, 0.13, 0.04, 0.01)
FEW = ("--kernels", "linear", "--method", "uniform", "--method", "alignment")
WRITTEN = 0.4
"""Share of trials that are told where to write, which the others are now and then."""

ODD = 0.6
"""Share of trials with an odd file; all have an odd option, or two."""


@cache
def world():
    """Return a folder with honest files, where commands are run."""
    folder = Path(tempfile.mkdtemp("", "command-lines-"))
    prepare(folder)
    (folder / "old folder.csv").mkdir()
    (folder / "empty.csv").write_text("")
    (folder / "old.csv").write_text(OLD)
    (folder / "head.csv").write_text("age,dose,y\n")
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    return folder


@cache
def honest():
    """Return the names of the honest files."""
    return {path.name for path in world().iterdir()}


@cache
def contents():
    """Return what the honest files hold."""
    return {p.name: p.read_bytes() for p in world().iterdir() if p.is_file()}


@cache
def parameters(command):
    """Return the options of a command: names, and whether a value follows."""
    found = command_tree().commands[command].params
    options = [p for p in found if p.param_type_name == "option" and p.name != "help"]
    return [(p.opts[0], not getattr(p, "is_flag", False)) for p in options]


def odd_data(random, folder):
    """Return the name of a file of samples that is odd, or missing."""
    kind = int(random.integers(6))
    if kind == 0:
        odd_arrays(random, folder)
        return "odd.npz"
    if kind == 1:
        before = set(folder.iterdir())
        odd_table(random, folder)
        new = sorted(p.name for p in set(folder.iterdir()) - before)
        odd = sorted(p.name for p in folder.glob("odd.*") if p.is_file())
        return (new or odd or ["missing.csv"])[0]
    others = ("missing.csv", "old folder.csv", "empty.csv", "head.csv", "0.skops")
    return others[int(random.integers(len(others)))]


def odd_model(random, folder):
    """Return the name of a file that is no model, or one that was changed."""
    if random.random() < 0.4:
        return tree_with_changes(random, folder).name
    if random.random() < 0.4:
        whole = (folder / "0.skops").read_bytes()
        (folder / "odd.skops").write_bytes(scrambled(whole, random))
        return "odd.skops"
    others = (*MODELS[1:], "missing.skops", "old folder.csv", "data.csv")
    return others[int(random.integers(len(others)))]


def words_of(random, command, folder):
    """Return the words of a command line."""
    data = f"data.{random.choice(['csv', 'parquet', 'npz'])}"
    model, oddity = MODELS[0], random.random()
    if oddity < ODD / 2:
        data = odd_data(random, folder)
    elif oddity < ODD:
        model = odd_model(random, folder)
    words = {
        "fit": ["fit", data, "--target", "y", "--kernels", "linear"],
        "path": ["path", data, "-t", "y", "--kernels", "linear", "--n-alphas", "3"],
        "predict": ["predict", model, data, "--drop", "y"],
        "report": ["report", model, data, "--target", "y", "--output", "odd.html"],
        "inspect": ["inspect", model],
        "compare": ["compare", data, "--target", "y", "--folds", "2", *FEW],
        "demo": ["demo", "--output", "old.csv"],
    }[command]
    known = parameters(command)
    for _ in range(int(random.integers(1, 3))):
        name, valued = known[int(random.integers(len(known)))]
        pool = (
            PLACES if name in ("--output", "--plot") else (*VALUES, "age", "age,dose")
        )
        value = pool[int(random.integers(len(pool)))]
        if command == "demo" and name == "--output":
            value = "old.csv"  # what can be written to would be drawn to, for seconds
        words += [name, value] if valued else [name]
    outputs = [name for name, _ in known if name in ("--output", "--plot")]
    if outputs and command != "demo" and random.random() < WRITTEN:
        words += [outputs[0], PLACES[int(random.integers(len(PLACES)))]]
    return words


def tidy(folder):
    """Remove what a trial has made, so that none depends on those before."""
    for path in folder.iterdir():
        if path.name not in honest():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, target in LINKS.items():
        if not (folder / name).is_symlink():
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(target)
    for name, data in contents().items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)


def changed_inputs(words, folder):
    """Yield the honest files that a command was to read, and that it changed."""
    for name in {*words[1:3]} & contents().keys():
        path = folder / name
        if not path.is_file() or path.read_bytes() != contents()[name]:
            yield "inconsistent", f"{name}, an input, was written over"
    for name in LINKS:
        if not (folder / name).is_symlink():
            yield "inconsistent", f"{name} is no link any more"


def run_one(seed):
    """Return the findings of one command line: (category, sentence) pairs."""
    random = np.random.default_rng([seed, 37])
    command = str(random.choice(COMMANDS, p=SHARES))
    folder, here = world(), os.getcwd()
    honest()
    contents()  # before the first trial makes others
    os.chdir(folder)
    try:
        words = words_of(random, command, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run_command(*words)
        wrong = [
            *judged(result),
            *foreign_options(command, result),
            *changed_inputs(words, folder),
        ]
    finally:
        os.chdir(here)
        tidy(folder)
    shown = " ".join(words)[:200]
    return [(category, f"{shown}: {text}") for category, text in wrong]


FIT_WITH = re.compile(r"(fit|fitted) with --[a-z-]+( [a-z]+)?( --[a-z-]+)?", re.I)
"""What commands on saved models say of the fit."""


def foreign_options(command, result):
    """Yield the options that a message names and its command lacks."""
    said = FIT_WITH.sub("", " ".join(result.stderr.split()))
    found = command_tree().commands[command].params
    own = {name for p in found for name in (*p.opts, *p.secondary_opts)}
    for option in sorted({*re.findall(r"--[a-z][a-z-]+", said)} - own - {"--help"}):
        if result.exit_code != 2:  # where an option that was given is named
            yield "sentences", f"{command} has no {option}: {said[-300:]}"


def judged(result):
    """Yield what is wrong with how a command ended."""
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        yield "exceptions", f"{type(error).__name__}: {error}"[:200]
        return
    said = result.stderr.strip()
    if "Traceback" in said:
        yield "exceptions", said[-200:]
    elif result.exit_code == 0:
        return
    elif result.exit_code not in (1, 2):
        yield "exceptions", f"exit code {result.exit_code}"
    elif len(said.split()) < 4 or INTERNAL.search(
        " ".join(said.replace("truth values", "").split())
    ):
        yield "sentences", said[-300:]
