"""Readers of files, as their tests call them."""

from multikernel.cli import _tables
from multikernel.cli._columns import PLAIN, ColumnChoice
from multikernel.cli._frames import read_frame
from multikernel.cli._large import open_partitions


def read_table(path, target, drop, **options):
    """Return a table by the options of the command line."""
    choice = ColumnChoice(tuple(target), tuple(drop), **options)
    return _tables.read_table(path, choice)


def read_whole(path):
    """Return a table that is read at once."""
    return read_frame(path)


def read_in_partitions(path):
    """Return a table that is read in partitions."""
    return open_partitions(path, PLAIN)[0].compute()
