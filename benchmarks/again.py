"""Compare drawn rows of a result file with the same rows measured again later.

``python -m benchmarks.again STORED NEW set,split,method score`` compares the scores of
rows of two files that agree in set, split and method, and stores the outcome in
``again.json`` beside STORED; the page states it. The page's script makes NEW.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path
from statistics import fmean

sys.path.append(str(Path(__file__).parent / "papers"))
from spot import agrees

TEXT = """On {date} at commit {commit}, {again} of {rows} rows, drawn at random, were \
measured again; {agree} agree in {columns} to three digits (mean change {change}).\n"""


def again(path: Path) -> str:
    """Return how many rows of a file were measured again and agree; empty if none."""
    file = path.with_name("again.json")
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return TEXT.format(**known[path.stem]) if path.stem in known else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("stored", "new", "by", "columns"):
        parser.add_argument(name)
    given = parser.parse_args()
    by, columns = given.by.split(","), given.columns.split(",")
    files = [Path(given.stored), Path(given.new)]
    old, new = (json.loads(file.read_text("utf-8"))["rows"] for file in files)
    rows = {tuple(row.get(name) for name in by): row for row in old}
    pairs = [(rows[tuple(row[name] for name in by)], row) for row in new]
    short = [[{c: row.get(c) for c in (*by, *columns)} for row in p] for p in pairs]
    changes = [b[c] - a[c] for a, b in short for c in columns if type(a[c]) is float]
    found = {"date": datetime.date.today().isoformat(), "commit": new[0]["commit"]}
    found |= {"rows": len(old), "again": len(new), "columns": " and ".join(columns)}
    found |= {"agree": sum(agrees(*pair) for pair in short), "pairs": short}
    found["change"] = f"{fmean(changes):+.3f}" if changes else "none"
    file = files[0].with_name("again.json")
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    known[files[0].stem] = found
    file.write_text(f"{json.dumps(known, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
