"""The command line: ``multikernel demo | fit | predict | path | inspect | report``."""

import sys

from multikernel._install import how_to_install


def main() -> None:
    """Run the command line; say what to install if its libraries are missing."""
    # Libraries take a second or more to load; a terminal hears of it at once.
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if terminal:
        print("Loading ...", end="\r", file=sys.stderr, flush=True)
    try:
        from multikernel.cli.app import app
    except ImportError as error:
        library = (error.name or "").partition(".")[0]
        if library in ("", "multikernel"):
            raise
        print(
            f"The command line needs {library}: {how_to_install('cli')}.",
            file=sys.stderr,
        )
        raise SystemExit(1) from error
    if terminal:
        print("           ", end="\r", file=sys.stderr, flush=True)
    app()
