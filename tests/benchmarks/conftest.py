"""Scripts run inside this process: to start one takes longer than its tiny sizes."""

import resource
import runpy
import sys
import warnings
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a script of the benchmarks with some options; return what it printed."""

    def start(script, *options):
        path = BENCHMARKS / script
        monkeypatch.setattr(sys, "argv", [str(path), *map(str, options)])
        monkeypatch.syspath_prepend(str(path.parent))
        capsys.readouterr()
        known, limit = set(sys.modules), resource.getrlimit(resource.RLIMIT_CPU)
        try:
            with warnings.catch_warnings():
                # As in a program of its own, where they end nothing.
                warnings.simplefilter("default")
                runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
        finally:
            # Folders have modules of the same names.
            for name in sys.modules.keys() - known:
                file = getattr(sys.modules[name], "__file__", None)
                # Folders of the package have no file, and need the package to stay.
                in_package = name.partition(".")[0] == BENCHMARKS.name
                if in_package or (file and BENCHMARKS in Path(file).parents):
                    del sys.modules[name]
        # A limit would end this process in a later test, sooner on a slow machine.
        assert resource.getrlimit(resource.RLIMIT_CPU) == limit
        return capsys.readouterr().out

    return start
