"""Random tables, written as people write them, and read at the command line.

Separators, quotes, marks of UTF-8, decimal marks, words for missing values, comments
and indices are drawn. A table comes back equal to the truth, or is refused in a
sentence.
"""

import contextlib
import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from cli.readers import read_in_partitions, read_whole

NAMES = ("age", "dose, daily", "a;b", "site|ward", "x\ty", "Größe", "a b", 'say "so"')
WORDS = (("lung", "skin"), ("NA", "EU"), ("None", "A"), ("yes; no", "x, y"))


def make_table(random):
    """Return a table of numbers and words, the truth."""
    n_rows = int(random.integers(3, 40))
    names = random.permutation(np.array(NAMES, dtype=object))[: random.integers(2, 6)]
    columns = {}
    for name in names.tolist():
        kind = int(random.integers(4))
        values = random.normal(size=n_rows).round(int(random.integers(1, 5))) + 0.5
        if kind == 1:
            values = random.integers(0, 50, size=n_rows)
        if kind == 2:
            values = np.array(WORDS[int(random.integers(len(WORDS)))], dtype=object)
            values = values[[0, 1, *random.integers(0, 2, size=n_rows - 2)]]
        columns[name] = values
    return pd.DataFrame(columns)


def written(random, frame):
    """Return the bytes of a table, in a form that is drawn."""
    separator = str(random.choice(list(",;\t|")))
    comma = separator != "," and random.random() < 0.5
    quoting = csv.QUOTE_ALL if random.random() < 0.3 else csv.QUOTE_MINIMAL
    text = io.StringIO()
    frame.to_csv(
        text,
        sep=separator,
        index=bool(random.random() < 0.3),
        decimal="," if comma else ".",
        quoting=quoting,
        lineterminator=str(random.choice(["\n", "\r\n"])),
        na_rep=str(random.choice(["", "NA", "null", "nan"])),
    )
    head = str(random.choice(["", "\n", "# by, hand\n", f"sep={separator}\n"]))
    encoding = random.choice(["utf-8", "utf-8-sig", "latin-1", "utf-16"], p=PARTS)
    return (head + text.getvalue()).encode(encoding)


PARTS = (0.5, 0.3, 0.1, 0.1)


def run_one(seed):
    """Return the findings of one table: (category, sentence) pairs."""
    random = np.random.default_rng([seed, 41])
    truth = make_table(random)
    if random.random() < 0.3:
        numbers = [name for name in truth if truth[name].dtype.kind == "f"]
        for name in numbers[:1]:
            truth.loc[random.integers(len(truth)), name] = np.nan
    findings = []
    with tempfile.TemporaryDirectory("", "encodings-") as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(written(random, truth))
        for reader in (read_whole, in_partitions):
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    found = reader(path)
            except ValueError as error:
                if "Traceback" in str(error) or len(str(error).split()) < 5:
                    findings.append(("sentences", f"{seed}: {error}"))
                continue
            text = difference(truth, found)
            if text:
                findings.append(("inconsistent", f"{seed} {reader.__name__}: {text}"))
    return findings


def in_partitions(path):
    """Return a table that is read in partitions, without the row numbers of to_csv."""
    frame = read_in_partitions(path)
    return frame.drop(columns=[n for n in frame if n.startswith("Unnamed: ")])


def difference(truth, found):
    """Return how a table differs from the truth, or nothing."""
    if list(found) != list(truth) or len(found) != len(truth):
        return f"{list(found)} x {len(found)} for {list(truth)} x {len(truth)}"
    for name in truth:
        true, values = truth[name].tolist(), found[name].tolist()
        if truth[name].dtype.kind in "if":
            if not np.allclose(true, pd.to_numeric(values), equal_nan=True):
                return f"{name}: {values[:3]} for {true[:3]}"
        elif true != values:
            return f"{name}: {values[:3]} for {true[:3]}"
    return ""
