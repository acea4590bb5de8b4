"""Write the tables of RESULTS.md anew, from what is in results/.

Run ``python benchmarks/papers/hkl/report.py`` after table1.py, table2.py,
figure2.py and recovery.py. The text around the tables is written by hand.
"""

import argparse
import re
from pathlib import Path

import figure2
import recovery
import table1
import table2
from records import HERE, Records

PARTS = {
    "table 1": table1,
    "table 2": table2,
    "figure 2": figure2,
    "recovery": recovery,
}


def main() -> None:
    """Fill the places of the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    page = HERE / "RESULTS.md"
    parser.add_argument("--output", type=Path, default=page, help="the filled page")
    output = parser.parse_args().output
    text = page.read_text(encoding="utf-8")
    for name, module in PARTS.items():
        records = Records(HERE / "results" / f"{name.replace(' ', '')}.jsonl")
        rows = "\n".join(module.table(records)).strip()
        block = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        filled = f"<!-- {name} -->\n{rows}\n<!-- end -->"
        text = block.sub(lambda _, filled=filled: filled, text, count=1)
    output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
