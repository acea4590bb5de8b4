"""The script ``multikernel`` itself."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from multikernel import LpMKLRegressor, __version__, save
from multikernel._install import how_to_install
from multikernel.cli import main
from multikernel.kernels import LinearKernel

RUN = "from multikernel.cli import main; main()"


def script(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_missing_libraries_are_named_with_the_extra():
    code = (
        "import sys\n"
        "from multikernel.cli import main\n"
        "sys.argv = ['multikernel', 'inspect', 'none.skops']\n"
        "for library in ('typer', 'rich', 'pandas'):\n"
        "    for name in {*sys.modules}:\n"
        "        if name.startswith('multikernel.cli.'): del sys.modules[name]\n"
        "    sys.modules[library] = None\n"
        "    try: main()\n"
        "    except SystemExit as end: print(end.code)\n"
        "    del sys.modules[library]\n"
    )
    result = script(code)
    assert result.stdout == "1\n1\n1\n"
    assert result.stderr.splitlines() == [
        f"Error: The command line requires {library}: {how_to_install('cli')}."
        for library in ("typer", "rich", "pandas")
    ]


@pytest.fixture
def terminal():
    """Return both ends of a terminal, if this machine can open one."""
    try:
        return os.openpty()
    except (AttributeError, OSError) as error:
        pytest.skip(f"needs a terminal: {error}")


def test_a_terminal_hears_of_the_program_before_its_libraries(terminal):
    ours, theirs = terminal
    # The first of them that is missing ends the program.
    code = f"import sys; sys.modules['typer'] = None; {RUN}"
    done = subprocess.run([sys.executable, "-c", code], stderr=theirs, check=False)
    os.close(theirs)
    said = os.read(ours, 2**16).decode()
    os.close(ours)
    assert done.returncode == 1
    assert said.startswith("Loading ...\r")


def test_a_fit_speaks_before_anything_slow_is_loaded(terminal, tmp_path):
    """All libraries take seconds on a busy machine: what is said first needs none."""
    table = tmp_path / "rows.csv"
    rows = [f"{i / 10},{(i * 7) % 10},{'yes' if i % 3 else 'no'}" for i in range(30)]
    table.write_text("\n".join(["a,b,label", *rows]), "utf-8")
    ours, theirs = terminal
    # With the first words it says what has been imported so far.
    code = (
        "import sys\n"
        "real = sys.stderr.write\n"
        "def write(text):\n"
        "    sys.stderr.write = real\n"
        "    print(sorted({'numpy', 'sklearn', 'scipy'} & set(sys.modules)))\n"
        "    return real(text)\n"
        "sys.stderr.write = write\n" + RUN.replace("; ", "\n")
    )
    line = [sys.executable, "-c", code, "fit", str(table), "--target", "label"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs) as run:
        os.close(theirs)
        first = os.read(ours, 2**16).decode()
        said = first
        with contextlib.suppress(OSError):  # what Linux says at the end
            while more := os.read(ours, 2**16).decode(errors="replace"):
                said += more
        assert run.stdout is not None
        printed = run.stdout.read().decode()
    os.close(ours)
    assert run.returncode == 0
    assert first.startswith("Loading ...")
    assert printed.startswith("[]\n")
    assert "building kernels" in said


COMMANDS = ("demo", "fit", "predict", "score", "path", "compare", "inspect", "report")


def test_help_loads_nothing_that_takes_long():
    code = (
        "import sys\n"
        "from multikernel.cli import main\n"
        f"for words in {[[], *([name] for name in COMMANDS)]}:\n"
        "    sys.argv = ['multikernel', *words, '--help']\n"
        "    try: main()\n"
        "    except SystemExit as end: assert end.code == 0\n"
        "slow = {'numpy', 'scipy', 'sklearn', 'numba', 'pandas'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)\n"
    )
    result = script(code)
    assert result.stderr == "[]\n"
    assert result.stdout.count("Usage") == 1 + len(COMMANDS)


def closed(*streams):
    """Run the script with streams that are closed."""

    def close():
        for number in streams:
            os.close(number)

    line = [sys.executable, "-c", RUN, "--version"]
    done = subprocess.run(line, capture_output=True, check=False, preexec_fn=close)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no process is made that way")
def test_closed_streams_are_a_sentence_or_nothing():
    said = "Error: Standard output is closed: redirect it to a file.\n"
    assert closed(1) == (1, "", said)
    assert closed(0, 1) == (1, "", said)
    assert closed(1, 2) == (1, "", "")
    assert closed(0, 2) == (0, f"{__version__}\n", "")


def test_closed_standard_input_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "argv", ["multikernel", "fit", "-", "--target", "y"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "Standard input is closed: pass a file" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("library", ["typer", "pandas"])
def test_an_interrupt_while_libraries_are_loaded_is_silent(library):
    code = (
        "import os, signal, sys\n"
        # Of processes that a shell starts in the background, interrupts are ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {library!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from multikernel.cli import main\n"
        "main()\n"
    )
    result = script(code, "fit", "none.csv")
    assert result.returncode == -signal.SIGINT
    assert result.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_temporary_files(number, tmp_path, csv, monkeypatch):
    place, seen = tmp_path / "temporary", []
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))

    def end(*_, **__):
        seen.extend(place.iterdir())
        os.kill(os.getpid(), number)

    monkeypatch.setattr("multikernel.estimators.grams.grams.build_blocked", end)
    line = ["fit", csv, "-t", "outcome", "--drop", "amount", "--stream"]
    monkeypatch.setattr(sys, "argv", ["multikernel", *map(str, line)])
    # A process that was started in the background may ignore interrupts.
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = signal.signal(number, usual[number])
    try:
        with pytest.raises(SystemExit) as ended:
            main()
        assert signal.getsignal(number) == usual[number]
    finally:
        signal.signal(number, before)
    assert ended.value.code == 128 + number
    assert len(seen) == 1
    del ended  # its frames hold the table
    gc.collect()
    assert not [*place.iterdir()]


def test_exit_code_of_a_user_error(monkeypatch, capsys):
    line = ["multikernel", "inspect", "no-such-file.skops"]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert said == (
        "Error: There is no model file no-such-file.skops: pass the path of an "
        "existing file.\n"
    )


@pytest.mark.parametrize(
    "more",
    [
        ["--help"],
        *(pytest.param(more, marks=pytest.mark.slow) for more in ([], ["--json"])),
    ],
    ids=str,
)
def test_a_closed_pipe_is_silent(more, tmp_path):
    model = tmp_path / "model.skops"
    save(LpMKLRegressor([LinearKernel()]).fit([[0.0], [1.0], [2.0]], [0, 1, 2]), model)
    command = [sys.executable, "-c", RUN, "inspect", str(model), *more]
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert result.stderr == ""
    assert result.returncode == 1


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "multikernel", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, __version__)
