"""Messages to the user. This module imports nothing slow."""

import errno
import functools
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec

import typer
from rich.console import Console
from rich.text import Text

P = ParamSpec("P")

FILL = (
    "Fit with --impute median (or mean), which also fills missing values in new rows, "
    "or remove the rows."
)
"""Advice on missing values for the command line."""

CHECK = "Check name and permissions."
"""Advice on files that cannot be opened."""

PARAMETER = re.compile(r"^\w+: (\w+) must be ")
"""Beginning of an error about a parameter of an estimator or a function."""

UNKNOWN = re.compile(r"has no parameter '(\w+)'")
"""Part of an error about an unknown parameter of an estimator."""

GRIDS = "alphas|Cs|ps|thetas"
"""Parameters that are lists of candidates."""

NAMES = (
    f"{GRIDS}|alpha_min_ratio|class_weight|cv|l1_ratio|max_bytes|max_iter|max_kernels"
    "|max_rank|max_search_rows|n_alphas|random_state|theta|tol"
)
"""Parameters of estimators that messages name without a value."""

NAMED = re.compile(
    # Names outside of quotes, options and file names such as data/cv.csv.
    rf"(?<![-\w'/.])(?<!--set )({NAMES})(?![-\w'=/]|\.\w)"
    # A proposed name, even one that is not in `NAMES`.
    r"|(?<=did you mean )\w+"
    # The name alpha in advice only, because messages also use it as a symbol.
    r"|(?:(?<=ncrease )|(?<=larger )|(?<=smaller )|(?<=tol or ))alpha\b"
)
"""A parameter without a value."""

WORDS = "alpha|loss|method|normalize|order|refit|scoring|selection|solver|storage"
"""Further parameters, which messages name with a value only."""

ASSIGNED = re.compile(rf"(?<![-\w('])({NAMES}|{WORDS})=('\w+'|\[[^]]*\])(?!\))")
"""A parameter with its value in Python, outside of calls such as ``f(loss='a')``."""

ADVICE = {
    r"pass alphabet=Alphabet\('\w+', unknown='skip'\)": "fit with --skip-letters",
    r"pass alphabet=Alphabet\('\w+', lower='upper'\)": "fit with --ignore-case",
    r", or a (NullAlpha|LowRank or Device)(?=, got)": "",
    r"(?<=^--alpha must be )one of 'auto', 'null', or ": "",
    r"^\w+ requires samples of at least two classes, got one class only: (.*)\. A.*": (
        r"--target requires at least two classes, but every row holds \1: name another "
        "column, or add rows of other classes."
    ),
    r"call predict\(X, offset=.*": "--offset names the column of the offset.",
    r"use decision_function, whose values rank the samples": (
        "rank the rows by the columns of predict --proba or predict --contributions"
    ),
    r"use by='kernel'": "use --contributions kernel",
    r"with \w+CV \(on the command line (--cv 5)\)": r"with \1",
    r" \(see LowRank\)": "",
    "support offset: remove this argument": "support --offset: remove it",
    "certify=True and a larger weight_base": "--set certify=true",
    r"^(--target .* must hold numbers, but it holds .*): convert.*": (
        r"\1: name another column, or correct the value."
    ),
}
"""Advice for the command line that replaces Python's advice, by pattern."""

TRUSTED = re.compile(r"load it with trusted=\[(.*)\]\.")
"""Python's advice on types in a model file."""

LINE_ENDS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
"""Line breaks, which a message must not contain."""

# Errors caused by input, files or missing libraries. Other errors are bugs and keep
# their traceback. An EOFError would be Ctrl-D for typer.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError, EOFError)


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output or error, which prints without markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def say(
    message: object, label: str = "", style: str = "", *, stderr: bool = False
) -> None:
    """Print a message on one line, after a label in a `style` of the library rich."""
    # File names may contain bytes that are not valid text.
    plain = LINE_ENDS.sub(" ", str(message).strip())
    plain = plain.encode("utf-8", "backslashreplace").decode()
    line = Text.assemble((label, style), " " if label else "", plain)
    console(stderr=stderr).print(line, soft_wrap=True)


def note(text: str, columns: Sequence[object] = ()) -> None:
    """Print a note; `text` is about the first of `columns`; count the others."""
    count = len(columns) - 1
    other_text = f"{count} other columns" if count > 1 else "another column"
    suffix = f" The same applies to {other_text}." if count > 0 else ""
    say(text + suffix, "Note:", stderr=True)


def user_errors(
    command: Callable[P, None], options: Sequence[str]
) -> Callable[P, None]:
    """Wrap a command: its errors become a sentence on stderr and exit code 1."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        """Run the command, and write its errors to standard error."""
        settings = kwargs.get("settings")
        pairs = settings if isinstance(settings, list) else []
        # Messages name parameters as options.
        names = [*options, *(f"--set {pair.partition('=')[0]}" for pair in pairs)]

        def show(
            message: Warning | str, category: type[Warning], *_: object, **__: object
        ) -> None:
            text = with_options(str(message), names)
            say(text, f"{category.__name__}:", "bold yellow", stderr=True)

        with warnings.catch_warnings():
            warnings.showwarning = show
            try:
                command(*args, **kwargs)
                sys.stdout.flush()
            except BrokenPipeError:
                raise  # typer exits silently
            except USER_ERRORS as error:
                text = _shell_message(error, names)
                say(text, "Error:", "bold red", stderr=True)
                raise typer.Exit(1) from error

    return guarded


def _shell_message(error: BaseException, options: Sequence[str]) -> str:
    """Return an error's message with Python advice replaced by options."""
    from multikernel.estimators.read.numbers import IMPUTE, IMPUTE_OR_VIEWS

    text = str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        advice = "Name a file." if isinstance(error, IsADirectoryError) else CHECK
        text = f"Cannot open {error.filename}: {error.strerror.lower()}. {advice}"
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        text = "Cannot write standard output or a temporary file: free disk space."
    elif isinstance(error, EOFError):
        text = (
            f"A file is truncated ({error}): the model file, or a file in numba's "
            "cache folder. Save the model again, or delete the cache folder."
        )
    for advice in (IMPUTE, IMPUTE_OR_VIEWS):
        text = text.replace(advice, FILL)
    text = with_options(text, options)
    if match := TRUSTED.search(text):
        names = [name.strip(" '") for name in match[1].split(",")]
        replacement = " ".join(f"--trusted {name}" for name in names)
        text = text.replace(match[0], f"add {replacement}.")
    if re.search(r"\brow \d", text):
        text += " Row 0 is the first row of data."
    return text


def with_options(text: str, options: Sequence[str]) -> str:
    """Return a message with `options` in place of the parameters that they set."""
    # The option of each parameter: "--max-rank" or "--set max_rank" for max_rank.
    option_of = {o.split()[-1].lstrip("-").replace("-", "_"): o for o in options}
    # --method chooses an estimator; some estimators have another parameter `method`.
    option_of.pop("method", None)

    def in_shell(match: re.Match[str]) -> str:
        # The match is a parameter, alone or with a value, such as max_rank=50.
        name, _, value = match[0].partition("=")
        option = option_of.get(name, "--set")
        if not option.startswith("--set"):
            return f"{option} {value}".rstrip().replace("'", "")
        if not value and re.fullmatch(GRIDS, name):
            value = "[...]"
        if value.startswith("["):
            return f"--set '{name}={value}'"
        return f"--set {match[0]}".replace("'", "")

    # Errors about parameters begin with the name of an estimator, which is omitted.
    if (match := PARAMETER.search(text)) and match[1] in option_of:
        text = f"{option_of[match[1]]} must be {text[match.end() :]}"
    if (match := UNKNOWN.search(text)) and "--set" not in option_of.get(
        match[1], "--set"
    ):
        text = text.replace(match[0], f"does not support {option_of[match[1]]}")
    for pattern, replacement in ADVICE.items():
        text = re.sub(pattern, replacement, text)
    # A list of all parameters of an estimator is not changed.
    advice, listing, parameters = text.partition(" Its parameters are ")
    advice = NAMED.sub(in_shell, ASSIGNED.sub(in_shell, advice))
    if "--set " in advice and "--set" not in options:
        advice += " Only the commands fit and path have --set."
    return advice + listing + parameters


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise unless the value of an option is one of the choices."""
    if value not in choices:
        listed = ", ".join(choices)
        raise ValueError(f"{option} must be one of {listed}, got {value!r}.")
