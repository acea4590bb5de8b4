"""``python -m multikernel.cli``: the command line if its script is not on the PATH."""

from multikernel.cli import main

main()
