"""Entry point of ``python -m multikernel.cli``, which needs no script on the PATH."""

from multikernel.cli import main

main()
