"""``python -m multikernel.cli``: the command line where its script is on no path."""

from multikernel.cli import main

main()
