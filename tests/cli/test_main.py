"""The script ``multikernel`` itself, in a process of its own."""

import subprocess
import sys

import pytest

RUN = "from multikernel.cli import main; main()"


def script(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("library", ["typer", "rich", "pandas"])
def test_missing_libraries_are_named_with_the_extra(library):
    result = script(f"import sys; sys.modules[{library!r}] = None; {RUN}")
    assert result.returncode == 1
    assert result.stderr == (
        f"The command line needs {library}: pip install 'multikernel[cli]'.\n"
    )


def test_exit_code_of_a_user_error():
    result = script(RUN, "inspect", "no-such-file.skops")
    assert result.returncode == 1
    assert result.stderr == "Error: There is no model file no-such-file.skops.\n"


def test_importing_the_package_loads_no_optional_library():
    # scikit-learn itself imports pandas and rich where it finds them.
    optional = ("typer", "matplotlib", "skops", "polars")
    code = (
        "import sys, multikernel, multikernel.display, multikernel.persistence;"
        f"print(sorted(set(sys.modules) & set({optional!r})))"
    )
    assert script(code).stdout == "[]\n"
