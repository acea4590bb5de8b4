"""Setup before the libraries are loaded: streams, signals, and a loading message."""

import codecs
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from multikernel._install import how_to_install

PLAIN = {"\u2588": "#", "\u2026": ".", "\u00b7": "-", "\u00d7": "x", "\u2022": "*"}
"""ASCII characters that replace Unicode characters of the same width."""

CLOSED = "Error: Standard output is closed: redirect it to a file."


@contextmanager
def loading() -> Iterator[None]:
    """Print a loading message on terminals, and name a missing library."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if terminal:
        print("Loading ...", end="\r", file=sys.stderr, flush=True)
    # Ctrl-C ends the process without a traceback during loading.
    with handled(signal.SIGINT, signal.default_int_handler, signal.SIG_DFL):
        try:
            yield
        except ImportError as error:
            library = (error.name or "").partition(".")[0]
            if library in ("", "multikernel"):
                raise
            raise ImportError(
                f"The command line requires {library}: {how_to_install('cli')}."
            ) from error
    if terminal:
        print("           ", end="\r", file=sys.stderr, flush=True)


def ended_by_sigterm() -> AbstractContextManager[None]:
    """Make SIGTERM raise SystemExit, so that temporary files are removed."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    return handled(signal.SIGTERM, signal.SIG_DFL, end)


@contextmanager
def handled(number: int, usual: Any, handler: Any) -> Iterator[None]:
    """Set the handler of a signal within a context, in the main thread."""
    # A handler other than `usual` is not replaced.
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(number) != usual:
        yield
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, usual)


def _as_plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a replacement for a character that a stream cannot encode."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    glyph = error.object[error.start]
    escaped = glyph.encode("ascii", "backslashreplace").decode()
    return PLAIN.get(glyph, escaped), error.start + 1


def write_any_text() -> None:
    """Make both output streams accept all text, by replacing what cannot be encoded."""
    codecs.register_error("multikernel", _as_plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="multikernel")


def replace_closed_streams() -> None:
    """Replace closed streams by the null device; exit if standard output is closed."""
    # Otherwise a file opened later would get the number of a closed stream.
    closed = sys.stdout is None
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if closed:
        print(CLOSED, file=sys.stderr)
        raise SystemExit(1)
