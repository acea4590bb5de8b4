"""The script ``multikernel`` itself, in a process of its own."""

import os
import subprocess
import sys

import pytest

from multikernel import LpMKLRegressor, save
from multikernel.kernels import LinearKernel

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


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_terminal_hears_of_the_program_before_its_libraries():
    ours, theirs = os.openpty()
    # The first of them that is missing ends the program.
    code = f"import sys; sys.modules['typer'] = None; {RUN}"
    done = subprocess.run([sys.executable, "-c", code], stderr=theirs, check=False)
    os.close(theirs)
    said = os.read(ours, 2**16).decode()
    os.close(ours)
    assert done.returncode == 1
    assert said.startswith("Loading ...\r")


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


def test_a_closed_pipe_is_silent(tmp_path):
    model = tmp_path / "model.skops"
    save(LpMKLRegressor([LinearKernel()]).fit([[0.0], [1.0], [2.0]], [0, 1, 2]), model)
    for more in ([], ["--json"]):
        command = [sys.executable, "-c", RUN, "inspect", str(model), *more]
        read, write = os.pipe()
        os.close(read)
        result = subprocess.run(
            command, stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(write)
        assert result.stderr == ""
        assert result.returncode == 1
