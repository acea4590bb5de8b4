"""Words have one form: American spelling, and the terms of docs/architecture.md."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.rst"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "paper").glob("*.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
]
PAGES = sorted(page for page in PAGES if "_build" not in page.parts)
PACKAGE = ROOT / "src" / "multikernel"
SOURCES = sorted(PACKAGE.rglob("*.py"))

STEMS = (
    "factor|general|initial|maxim|minim|normal|optim|parallel|penal|recogn|regular|"
    "serial|standard|summar|symmetr|vector"
)

WRONG = {
    rf"\w*({STEMS})is(e[sdr]?|ers|ing|ation)": "...ize, ...ization",
    r"(un)?cent(red?|res|ring)": "center, centered, centering",
    r"(colour|behaviour|neighbour|favour)\w*": "color, behavior, neighbor, favor",
    r"artefacts?": "artifact",
    r"licences?": "license",
    r"(modell|labell)(ed|ing)": "modeled, labeled",
    r"analyses?d": "analyzed",
    r"grey": "gray",
    r"data-?sets?": "data set",
    r"hyper-?parameters?": "parameter",
    r"non-(negative|convex|zero)": "nonnegative, nonconvex, nonzero",
    r"semi-definite": "semidefinite",
    r"pre-computed": "precomputed",
    r"cross validation": "cross-validation",
    r"(sub|base)[- ]kernels?": "kernel",
    r"gram matri(x|ces)": "Gram matrix",
    r"(primal-dual|dual) gap": "duality gap",
    r"kernel coefficients?": "kernel weight",
    r"regularization parameters?": "strength",
}
PATTERN = re.compile("|".join(rf"\b(?P<w{n}>{form})\b" for n, form in enumerate(WRONG)))
RIGHT = list(WRONG.values())

CODE = re.compile(
    r"```.*?```|``.*?``|`[^`]*`|:\w+:`.*?`|https?://\S+"  # code and addresses
    r"|^ +\w+(?:, \w+)* : [^\n]*"  # parameters
    r"|^\s*(?:>>>|\.\.\.)[^\n]*|[\w.]*[_./=][\w./]+",  # examples and names
    re.MULTILINE | re.DOTALL,
)
"""Code in prose, addresses and examples, which may have other words."""


def wrong_words(text: str) -> Iterator[str]:
    """Yield each wrong word of a text, with its right form."""
    for match in PATTERN.finditer(CODE.sub(" ", text)):
        n = int((match.lastgroup or "w0")[1:])
        yield f"{match.group()} -> {RIGHT[n]}"


def prose(path: Path) -> Iterator[str]:
    """Yield docstrings, messages and comments of a module."""
    with tokenize.open(path) as file:
        source = file.read()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kinds = (
            tokenize.STRING,
            tokenize.COMMENT,
            getattr(tokenize, "FSTRING_MIDDLE", -1),
        )
        if token.type in kinds and " " in token.string:
            yield token.string


def test_pages_use_one_form_of_each_word():
    wrong = [
        f"{page.relative_to(ROOT)}: {word}"
        for page in PAGES
        for word in wrong_words(page.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_sources_use_one_form_of_each_word():
    # Names in code may match as well; few files have to be split into tokens.
    suspects = [path for path in SOURCES if PATTERN.search(path.read_text("utf-8"))]
    wrong = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in suspects
        for text in prose(path)
        for word in wrong_words(text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a normalised kernel", 1), ("the data set", 0), ("``centred`` and centred", 1)],
)
def test_wrong_forms_are_found(text: str, words: int):
    assert len(list(wrong_words(text))) == words
