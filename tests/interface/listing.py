"""The public interface as one text, to be compared with the stored one."""

from pathlib import Path

from fixtures.stored import NEWEST
from interface.commands import command_lines, json_lines
from interface.names import name_lines

import multikernel

STORED = Path(__file__).parent / "public.txt"


def public_interface() -> str:
    """Return everything that the policy of versions promises, line by line."""
    return "\n".join(
        [
            f"multikernel {multikernel.__version__}",
            "",
            f"format of model files {NEWEST.name}",
            "",
            *name_lines(),
            "",
            *command_lines(),
            "",
            *json_lines(),
            "",
        ]
    )
