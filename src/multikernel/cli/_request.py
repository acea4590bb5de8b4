"""What commands that train are asked, before anything is read or loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """The options that commands share which train on a file.

    None stands for what is settled by the data or by the estimators.
    """

    data: Sequence[Path]
    target: list[str] | None
    task: str | None
    loss: str | None
    kernels: str
    interactions: bool
    tol: float | None
    settings: list[str] | None
    scale: bool
    impute: str | None
    drop: list[str] | None
    view: list[str] | None
    category: list[str] | None
    group: str | None
    sequence: list[str] | None
    sequence_kernels: str
    alphabet: str | None
    skip_letters: bool
    ignore_case: bool
    storage: str | None = None
    max_rank: int | None = None
    folder: Path | None = None
    event: str | None = None


@dataclass(frozen=True)
class StrengthRequest:
    """How strong to regularize, or with how many folds to choose it."""

    alpha: float | str | None = None
    C: float | str | None = None
    p: float | None = None
    cv: int | None = None
    scoring: str | None = None
