"""A handful of the attacks on what is written to disks, and read from them."""

import multiprocessing

import pytest
from attack import (
    command_lines,
    damaged_caches,
    encodings,
    full_disks,
    hostile_parts,
    hostile_shapes,
)

SHAPES = (42, 335, 867, 1414, 2800, 5180)
"""Model files that loaded and then failed while the check of shapes was made: numbers
that were text, levels of another graph, shares of fewer outputs, no landmarks."""


@pytest.mark.parametrize("seed", SHAPES)
def test_arrays_of_other_shapes_are_refused(seed):
    assert hostile_shapes.run_one(seed) == []


def test_altered_parts_of_sklearn_do_not_end_the_process(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    child = spawn.Process(target=hostile_parts.several, args=(25, 0, tmp_path))
    child.start()
    child.join(100)
    assert child.exitcode == 0


@pytest.mark.parametrize("seed", range(4))
def test_damaged_caches_end_no_fit(seed):
    assert damaged_caches.run_one(seed) == []


DISKS = (1, 49, 53)
"""A memory map of centered kernels, batches in a file, and predictions that are written
batch by batch."""


@pytest.mark.parametrize("seed", DISKS)
def test_full_disks_lose_and_leave_nothing(seed):
    assert full_disks.run_one(seed) == []


COMMANDS = (700032, 700487, 701361, *range(10_000, 10_012))
"""Files whose parts do not fit together, models that are none, and numbers in place of
sequences ended in what Python says of the code that met them; and a dozen others."""


@pytest.mark.parametrize("seed", COMMANDS)
def test_odd_command_lines_end_in_words(seed):
    assert command_lines.run_one(seed) == []


def test_tables_of_any_form_come_back():
    assert [f for seed in range(12) for f in encodings.run_one(seed)] == []
