"""Models as they come, on every kind of data: scores, processor time, mean ranks.

``python -m benchmarks.choosing.run [--kinds KIND ...] [--only SET ...] [--splits N]``
in the environment that ``make bench-peers`` makes. Rows are told apart by kind, set,
split and model, and known ones are not measured again, so that a long measurement can
be made in pieces. The page ``RESULTS.md`` and what the user guide shows are made from
all rows that there are.
"""

import argparse
import itertools
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.choosing.models import COMPARED, MODELS, OURS, limit
from benchmarks.choosing.report import write
from benchmarks.choosing.sets import KINDS, split_of
from benchmarks.measure import Results, Row, cpu
from benchmarks.papers.provenance import processor
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "user_guide"
Found = TypeVar("Found")
SCORES = {"accuracy": accuracy_score, "AUC": roc_auc_score, "R²": r2_score}
KEY = ("kind", "set", "split", "model")


class Stopped(BaseException):
    """A method has taken all its time. No ``Exception``: searches outlive these."""


def limited(work: Callable[[], Found], seconds: float) -> tuple[Found, float]:
    """Return what a call returns, and its processor seconds, or stop it."""
    expired = False

    def stop(*_: Any) -> None:
        nonlocal expired
        expired = True
        raise Stopped

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return cpu(work)
    except KeyboardInterrupt as error:
        # CatBoost raises it for every exception of a signal handler.
        if expired:
            raise Stopped from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def measure(results: Results, wanted: list[str], **facts: str | int) -> None:
    """Fit models on a split, in turn; time counts the predictions as well."""
    left = [one for one in wanted if not results.known(model=one, **facts)]
    if not left:
        return
    most = limit(str(facts["kind"]))
    split = split_of(str(facts["kind"]), str(facts["set"]), int(facts["split"]))
    for one in left:
        row: Row = facts | {"model": one, "measure": split.measure}
        try:
            (found, used), row["seconds"] = limited(lambda: MODELS[one](split), most)  # noqa: B023
        except ImportError as error:
            print(f"{one} is left out: {error}")
            continue
        except Stopped:
            row |= {"failed": f"stopped after {most} s", "seconds": float(most)}
        except Exception as error:
            # What a peer cannot do is a result, and comes last in the ranks.
            if one in OURS:
                raise
            row["failed"] = f"{type(error).__name__}: {error}"
        else:
            row["score"] = float(SCORES[split.measure](split.y_test, found))
            row["used"] = used
        results.add(**row, n=len(split.y), processor=processor())


def main() -> None:
    """Measure what is not known, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--only", nargs="*", help="sets")
    parser.add_argument("--models", nargs="*", choices=list(MODELS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path = options.output / "results" / "choosing.json"
    results = Results(path, KEY)
    for number, kind in itertools.product(range(options.splits), options.kinds):
        wanted = [m for m in COMPARED[kind] if m in (options.models or MODELS)]
        for name in options.only or KINDS[kind]:
            measure(results, wanted, kind=kind, set=name, split=number)
    write(path, options.output, GUIDE if options.output == HERE else options.output)


if __name__ == "__main__":
    main()
