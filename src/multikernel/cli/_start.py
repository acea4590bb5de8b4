"""Setup before the libraries are loaded: streams, signals, and a loading message."""

import codecs
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from multikernel._install import how_to_install

PLAIN = {"\u2588": "#", "\u2026": ".", "\u00b7": "-", "\u00d7": "x", "\u2022": "*"}
"""ASCII characters that replace Unicode characters of the same width."""

Handler = Callable[[int, FrameType | None], object] | signal.Handlers
"""A handler of a signal."""

CLOSED = "Error: Standard output is closed: redirect it to a file."


@contextmanager
def loading() -> Iterator[None]:
    """Print a message during imports; raise with advice if a library is missing."""
    # The message appears only on terminals.
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if is_terminal:
        print("Loading ...", end="\r", file=sys.stderr, flush=True)
    # Ctrl-C ends the process without a traceback during loading.
    with signal_handler(signal.SIGINT, signal.default_int_handler, signal.SIG_DFL):
        try:
            yield
        except ImportError as error:
            library = (error.name or "").partition(".")[0]
            if library in ("", "multikernel"):
                raise
            raise ImportError(
                f"The command line requires {library}: {how_to_install('cli')}."
            ) from error
    if is_terminal:
        print("           ", end="\r", file=sys.stderr, flush=True)


def ended_by_sigterm() -> AbstractContextManager[None]:
    """Make SIGTERM raise SystemExit, so that temporary files are removed."""

    def exit_on_signal(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    return signal_handler(signal.SIGTERM, signal.SIG_DFL, exit_on_signal)


@contextmanager
def signal_handler(number: int, default: Handler, handler: Handler) -> Iterator[None]:
    """Set a signal's handler within a context, if the current one is `default`."""
    # Handlers that a calling program has set are not replaced. Only the main thread can
    # set handlers; in other threads, nothing changes.
    is_main_thread = threading.current_thread() is threading.main_thread()
    if not is_main_thread or signal.getsignal(number) != default:
        yield
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, default)


def _encode_plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a replacement for a character that a stream cannot encode."""
    # As for every handler of codec errors, the second result is the next position.
    if not isinstance(error, UnicodeEncodeError):
        raise error
    glyph = error.object[error.start]
    escaped = glyph.encode("ascii", "backslashreplace").decode()
    return PLAIN.get(glyph, escaped), error.start + 1


def write_any_text() -> None:
    """Make both output streams accept all text, by replacing what cannot be encoded."""
    codecs.register_error("multikernel", _encode_plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="multikernel")


def replace_closed_streams() -> None:
    """Replace closed streams by the null device; exit if standard output is closed."""
    stdout_is_closed = sys.stdout is None
    # Open the descriptors 0 to 2. Otherwise a file opened later would get one of them.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if stdout_is_closed:
        print(CLOSED, file=sys.stderr)
        raise SystemExit(1)
