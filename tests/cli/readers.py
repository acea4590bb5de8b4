"""Both readers of CSV files, as their tests compare them."""

from multikernel.cli._doubts import Wanted
from multikernel.cli._frames import read_frame
from multikernel.cli._large import opened


def read_whole(path):
    """Return a table that is read at once."""
    return read_frame(path)


def read_in_partitions(path):
    """Return a table that is read in partitions."""
    return opened(path, lambda _: Wanted())[0].compute()
