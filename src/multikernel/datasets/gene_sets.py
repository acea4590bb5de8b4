"""Gene sets of a GMT file as views of a table."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multikernel._validation import COUNT, OneOf, check_parameter, listed
from multikernel.datasets.files import PathLike
from multikernel.exceptions import DataWarning, warn_user


@dataclass(frozen=True)
class GeneSets:
    """Gene sets whose genes are columns of a table.

    `views` maps each set to its columns, for the ``kernels`` of an estimator. `absent`
    maps each set to the number of its genes that are not columns.
    """

    views: dict[str, list[str]] | dict[str, list[int]]
    absent: dict[str, int]


def read_gene_sets(
    path: PathLike, genes: Any, *, by: str = "name", min_genes: int = 1
) -> GeneSets:
    r"""Read gene sets from a GMT file, as views of a table of these genes.

    A line of the file is a set: its name, a description, and its genes, separated by
    tabs. Genes that are not columns of the table are ignored and counted.

    Parameters
    ----------
    path : str or path-like
        GMT file in UTF-8, optionally compressed (``.gmt.gz``).
    genes : sequence of str, data frame or AnnData
        Columns of the table, or the table itself.
    by : {"name", "position"}, default="name"
        Column names or positions in views; sparse tables require positions.
    min_genes : int, default=1
        Smallest number of genes among the columns; smaller sets are ignored.

    Returns
    -------
    sets : GeneSets

    Raises
    ------
    ValueError
        If a line has no genes, two sets have the same name, or no set is large enough.

    Warns
    -----
    DataWarning
        If genes or sets are ignored, with their numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from multikernel.datasets import read_gene_sets
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sets.gmt")
    ...     _ = path.write_text("P53\tna\tTP53\tMDM2\nMYC\tna\tMYC\n")
    ...     sets = read_gene_sets(path, ["MYC", "TP53", "MDM2"])
    >>> sets.views, sets.absent
    ({'P53': ['TP53', 'MDM2'], 'MYC': ['MYC']}, {'P53': 0, 'MYC': 0})
    """
    check_parameter("read_gene_sets", "by", by, OneOf(("name", "position")))
    check_parameter("read_gene_sets", "min_genes", min_genes, COUNT)
    if isinstance(genes, str):
        raise ValueError(
            f"read_gene_sets: genes must be a list of names or a table, got {genes!r}."
        )
    columns = getattr(genes, "columns", getattr(genes, "var_names", genes))
    positions = {str(gene): index for index, gene in enumerate(columns)}
    sets = _read_sets(Path(path))
    present = {
        name: [gene for gene in members if gene in positions]
        for name, members in sets.items()
    }
    absent = {name: len(sets[name]) - len(genes) for name, genes in present.items()}
    large = {name: g for name, g in present.items() if len(g) >= min_genes}
    if not large:
        most = max(map(len, present.values()))
        advice = f"pass min_genes={most}, the largest number of a set, or add columns"
        if not most:
            first = next(iter(sets.values()))[0]
            advice = f"name the columns like {first!r}, the first gene of the file"
        raise ValueError(
            f"No set of {path} has {min_genes} or more of its genes among the columns: "
            f"{advice}."
        )
    small = [name for name in present if name not in large]
    _warn(Path(path), absent, small, min_genes)
    if by == "name":
        return GeneSets(large, absent)
    places = {name: [positions[gene] for gene in large[name]] for name in large}
    return GeneSets(places, absent)


def _read_sets(path: Path) -> dict[str, list[str]]:
    """Return the genes of every set of a GMT file, without duplicates."""
    sets: dict[str, list[str]] = {}
    is_gzip = path.suffix.lower() == ".gz"
    data = gzip.decompress(path.read_bytes()) if is_gzip else path.read_bytes()
    lines = data.decode("utf-8-sig").splitlines()
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        name, members = fields[0], [gene for gene in fields[2:] if gene]
        if not members:
            raise ValueError(
                f"Line {line_number} of {path} has no genes: write a name, a "
                "description and genes, separated by tabs, or remove the line."
            )
        if name in sets:
            raise ValueError(f"Two sets of {path} have the name {name!r}: rename one.")
        sets[name] = list(dict.fromkeys(members))
    if not sets:
        raise ValueError(
            f"{path} has no gene set: pass a GMT file, whose lines have a name, a "
            "description and genes, separated by tabs."
        )
    return sets


def _warn(path: Path, absent: dict[str, int], ignored: list[str], n_min: int) -> None:
    """Warn about absent genes and ignored sets."""
    n_absent, n_sets = sum(absent.values()), sum(map(bool, absent.values()))
    if not n_absent and not ignored:
        return
    parts = []
    if n_absent:
        parts.append(
            f"{n_absent} gene{'s' * (n_absent > 1)} (in {n_sets} of {len(absent)} "
            "sets) that the columns lack (see `absent` of the result)"
        )
    if ignored:
        parts.append(
            f"the set{'s' * (len(ignored) > 1)} {listed(ignored)} with fewer than "
            f"{n_min} gene{'s' * (n_min > 1)} among the columns"
        )
    warn_user(f"{path}: read_gene_sets ignores {' and '.join(parts)}.", DataWarning)
