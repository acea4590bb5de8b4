"""The command line, run in this process: to start another takes longer than it does."""

import click
import typer
from typer.testing import CliRunner

from multikernel.cli.app import app


def run_command(*words, **settings):
    """Run a command; return its result with stdout, stderr and exit_code."""
    return CliRunner().invoke(app, [str(word) for word in words], **settings)


def command_tree() -> click.Group:
    """Return all commands with their options."""
    return typer.main.get_command(app)
