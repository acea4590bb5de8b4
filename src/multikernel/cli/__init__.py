"""The command line: ``multikernel demo | fit | predict | compare | report | ...``."""

import sys

from multikernel.cli._start import (
    ended_by_sigterm,
    loading,
    replace_closed_streams,
    write_any_text,
)


def main() -> None:
    """Run the command line; if its libraries are missing, print what to install."""
    replace_closed_streams()
    write_any_text()
    try:
        with loading():
            from multikernel.cli.app import app
    except ImportError as error:
        if error.__cause__ is None:
            raise  # a bug, not a missing library
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(1) from error
    with ended_by_sigterm():
        app()
