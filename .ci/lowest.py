"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
groups = [project["dependencies"], *project["optional-dependencies"].values()]
for requirement in sorted({line for group in groups for line in group}):
    if bound := re.fullmatch(r"([\w-]+)>=([\w.]+)", requirement):
        print(f"{bound[1]}=={bound[2]}")
