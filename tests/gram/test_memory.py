"""How much memory there is: the machine's, or less where a control group says so."""

import pytest

from multikernel.gram.memory import available_bytes, readable_bytes

GIB = 2**30


def machine(root, cgroup):
    files = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 8388608 kB\n"}
    files["proc/self/cgroup"] = cgroup
    write(root, files)


def write(root, files):
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def group(limit, used, cached, names):
    stat = f"anon 1\n{names[2]} {cached}\n"
    return {names[0]: f"{limit}\n", names[1]: f"{used}\n", "memory.stat": stat}


NAMES = {
    "v1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    "v2": ("memory.max", "memory.current", "inactive_file"),
}


def test_without_control_groups_the_machine_counts(tmp_path):
    write(tmp_path, {"proc/meminfo": "MemAvailable: 8388608 kB\n"})
    assert available_bytes(tmp_path) == 8 * GIB


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("limited", ["", "jobs", "jobs/mine"])
def test_the_strictest_group_counts(version, limited, tmp_path):
    line = "0::/jobs/mine" if version == "v2" else "5:cpu,memory:/jobs/mine"
    machine(tmp_path, f"{line}\n4:pids:/other\n")
    top = tmp_path / ("sys/fs/cgroup" if version == "v2" else "sys/fs/cgroup/memory")
    loose = group("max" if version == "v2" else 2**63 - 4096, GIB, 0, NAMES[version])
    for folder in ("", "jobs", "jobs/mine"):
        write(top / folder, loose)
    write(top / limited, group(4 * GIB, 3 * GIB, GIB, NAMES[version]))
    assert available_bytes(tmp_path) == 2 * GIB


def test_a_group_whose_path_is_the_hosts(tmp_path):
    machine(tmp_path, "0::/../../host/path\n")
    write(tmp_path / "sys/fs/cgroup", group(4 * GIB, GIB, 0, NAMES["v2"]))
    assert available_bytes(tmp_path) == 3 * GIB


def test_a_group_above_its_limit_has_nothing_left(tmp_path):
    machine(tmp_path, "0::/\n")
    write(tmp_path / "sys/fs/cgroup", group(GIB, 2 * GIB, 0, NAMES["v2"]))
    assert available_bytes(tmp_path) == 0


def test_this_machine_has_memory():
    assert available_bytes() > 2**20


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(12, "12 bytes"), (3456, "3.46 kB"), (2_000_000, "2 MB")]
)
def test_sizes_are_read_by_people(n_bytes, text):
    assert readable_bytes(n_bytes) == text
