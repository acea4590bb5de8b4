"""The documents tell the truth: code runs, prints what they say, links hold."""

import contextlib
import doctest
import hashlib
import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import warnings
import zipfile
from pathlib import Path
from statistics import median

import pytest
import sklearn
from command_line import run_command
from sklearn.datasets import load_breast_cancer
from sklearn.utils.fixes import parse_version

import multikernel
from multikernel.estimators import SpicyMKLClassifier
from multikernel.kernels import spicy_dictionary

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").rglob("*.rst"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MARKDOWN = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
MARKDOWN += [ROOT / "docs" / name for name in ("architecture.md", "walks.md")]


def test_readme_code_prints_what_the_readme_says():
    blocks = re.findall(r"```(python|text)\n(.*?)```", README, flags=re.DOTALL)
    code = [text for language, text in blocks if language == "python"]
    said = [text for language, text in blocks if language == "text"]
    assert len(code) == len(said) >= 3
    namespace = {"__name__": "readme"}
    models = []
    for source, expected in zip(code, said, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")  # what a newcomer runs first is clean
            exec(compile(source, "README.md", "exec"), namespace)
        assert comparable(printed.getvalue()) == comparable(expected)
        models.append(namespace["model"])
    n_pairs = sum(" × " in name for name in models[0].kernel_names_)
    assert f"trained on {len(namespace['X_train'])} rows" in " ".join(README.split())
    assert f"the interactions of all {n_pairs} pairs" in README


def test_readme_commands_run_in_an_empty_folder(tmp_path, monkeypatch):
    blocks = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    (block,) = (block for block in blocks if "multikernel predict" in block)
    monkeypatch.chdir(tmp_path)
    for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        program, *words = shlex.split(command)
        if program == "python":
            subprocess.run([sys.executable, *words], check=True)
            continue
        assert program == "multikernel"
        done = run_command(*words)
        assert done.exit_code == 0, done.output
    assert len(Path("predictions.csv").read_text("utf-8").splitlines()) == 43


def test_readme_figures_are_those_that_are_printed_or_measured():
    prose, printed = README.split("```python")[0], README.split("```text")[1]
    scores = re.findall(r"R² (0\.\d\d)", printed)
    assert len(scores) == 3
    assert all(score in prose for score in scores)
    kernels = re.search(r"\d+ of (\d+) kernels", printed)
    assert f"among {kernels[1]} kernels" in prose
    assert f"over all {kernels[1]} kernels" in README
    share = re.search(r"within ([\d.]+%) of the optimum", printed)
    assert f"improve the objective by more than {share[1]}." in " ".join(README.split())
    n_columns = load_breast_cancer().data.shape[1]
    assert f"trains on {len(spicy_dictionary(n_columns))} kernels" in README
    path = ROOT / "benchmarks" / "interactions" / "results.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    alone, pairs, forest = (
        median(r["score"] for r in rows if r.get("name") == f"pumadyn_32nm: {name}")
        for name in ("SpicyMKL, no pairs", "SpicyMKL", "random forest")
    )
    said = f"from {alone:.2f} to {pairs:.2f}, where a forest has {forest:.2f}"
    assert said in " ".join(README.split())


def comparable(printed):
    """Leave out how good boosting is where scikit-learn is older: 1.8 says 0.49."""
    if parse_version(sklearn.__version__) >= parse_version("1.9"):
        return printed
    return re.sub(r"R² 0\.\d\d(?=  HistGradientBoosting)", "", printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_examples_of_the_documentation(page):
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.failed == 0


LONGEST_LINE = 88
"""The site shows so many characters of code beside both sidebars at 1300 pixels."""


def test_code_fits_into_its_box():
    pages = [page for page in PAGES if "generated" not in page.parts]
    lines = [
        line.strip()
        for page in (*pages, *MARKDOWN)
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith((">>> ", "... ", "$ "))
    ]
    assert len(lines) > 500
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    inside = [link for link in links if not link.startswith("http")]
    missing = [link for link in inside if not (page.parent / link).exists()]
    assert missing == []


def test_the_page_on_files_has_their_format(tmp_path):
    multikernel.save(SpicyMKLClassifier(), tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as file:
        written = json.loads(file.read("multikernel.json"))["format"]
    page = (ROOT / "docs" / "user_guide" / "persistence.rst").read_text("utf-8")
    assert f"it is {written} in this one" in page


def test_one_version_everywhere():
    places = runpy.run_path(str(ROOT / ".ci" / "version.py"))["PLACES"]
    assert len(places) >= 4
    for name, pattern in places.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        stated = re.findall(pattern, text, flags=re.MULTILINE)
        assert stated == [multikernel.__version__], name


def test_the_citation_has_the_date_of_the_changelog():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (date,) = re.findall(r"^date-released: (.+)$", citation, flags=re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f" ({date})\n" in changelog


def test_the_next_version_is_one_command(tmp_path, capsys):
    names = [
        *runpy.run_path(str(ROOT / ".ci" / "version.py"))["PLACES"],
        "CHANGELOG.md",
    ]
    for name in (*names, ".ci/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    change = runpy.run_path(str(tmp_path / ".ci" / "version.py"))["main"]
    # As after the version before: this tree may be a release, with nothing unreleased.
    change("77.0.0.dev0")
    change("77.0.0")
    dated = f"## 77.0.0 ({time.strftime('%Y')}"
    texts = {name: (tmp_path / name).read_text("utf-8") for name in names}
    assert all(text.count("77.0.0") == 1 for text in texts.values())
    assert dated in texts["CHANGELOG.md"]
    assert "## Unreleased" not in texts["CHANGELOG.md"]
    assert "Development Status :: 5" in texts["pyproject.toml"]
    with pytest.raises(SystemExit, match="no section Unreleased"):
        change("77.0.1")
    change("77.0.0")  # the same version on the same day
    for lower in ("77.0.0.dev1", "77.0.0rc1", "76.9.9"):
        with pytest.raises(SystemExit, match=f"{lower} is lower than 77.0.0, the ver"):
            change(lower)
    for wrong in ("1", "077.1.0", "77.01.0", "77.1.00", "77.1.0.dev", "77.1.0b1"):
        with pytest.raises(SystemExit, match=f"'{wrong}' is not a version such as"):
            change(wrong)
    assert texts == {name: (tmp_path / name).read_text("utf-8") for name in names}
    change("77.1.0.dev0")
    assert f"## Unreleased\n\n{dated}" in (tmp_path / "CHANGELOG.md").read_text("utf-8")
    change("77.1.0rc1")
    assert "\n## 77.1.0rc1 (" in (tmp_path / "CHANGELOG.md").read_text("utf-8")
    change("77.1.0")  # the section of the candidate becomes that of the release
    changelog = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert changelog.count("## 77.1.0 (") == 1
    assert "77.1.0rc1" not in changelog


def test_versions_have_the_order_of_pip():
    rank = runpy.run_path(str(ROOT / ".ci" / "version.py"))["rank"]
    versions = ["1.0.0", "1.0.0rc10", "1.0.0rc2", "1.0.0.dev10", "1.0.0.dev2", "0.10.0"]
    ordered = sorted([*versions, "0.9.0", "1.0.1"], key=rank)
    assert ordered == ["0.9.0", *reversed(versions), "1.0.1"]
    assert ordered == sorted(ordered, key=parse_version)


@pytest.fixture
def unfilled(tmp_path):
    """Return a function that lists placeholders after a change of the examples."""
    page = (ROOT / "docs" / "project" / "release.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| (.+) \|$", page, flags=re.MULTILINE)
    script = tmp_path / ".ci" / "unfilled.py"
    script.parent.mkdir()
    shutil.copy(ROOT / ".ci" / "unfilled.py", script)
    names = runpy.run_path(str(script))
    assert sorted([*names["FORMS"], "README.md"]) == sorted(file for file, _ in rows)

    def listed(change):
        for file, values in rows:
            form = {"README.md": "[text]({})", "conda/recipe.yaml": "  {}"}
            lines = [
                form.get(file, "{}").format(value)
                for value in re.findall("`([^`]+)`", values)
                if value != ".rst"
            ]
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(change("\n".join(lines)), encoding="utf-8")
        return names["unfilled"]()

    return listed


def test_placeholders_are_listed_until_they_have_values_like_those_of_the_page(
    unfilled,
):
    empty = unfilled(lambda text: "")
    assert len(empty) == 13
    assert "pyproject.toml: Documentation" in empty
    copied = unfilled(lambda text: text)
    known = {f"src/multikernel/_install.py: {name}" for name in ("PACKAGE", "PLACE")}
    assert {gap for gap in copied if "README" not in gap} == {*empty} - known
    assert len([gap for gap in copied if "README" in gap]) == 3
    assert unfilled(lambda text: text.replace("OWNER", "somebody")) == []


def test_relative_links_of_the_readme_are_listed(unfilled):
    address = "https://github.com/somebody/multikernel/blob/main/"
    links = f"![picture](docs/a.png) [page](docs/b.rst) [file]({address}LICENSE)"
    gaps = [gap for gap in unfilled(lambda text: links) if "README" in gap]
    assert gaps == ["README.md: link to docs/a.png", "README.md: link to docs/b.rst"]


def test_the_release_workflow_stops_at_placeholders():
    workflow = ROOT / ".github" / "workflows" / "release.yml"
    assert "\n          python .ci/unfilled.py\n" in workflow.read_text("utf-8")


def test_the_conda_package_needs_what_the_others_do():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    optional = {*extras["plot"], *extras["cli"], *extras["dask"]} - {
        "multikernel[dask]"
    }
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    listed = []
    for part in recipe.split("  run_constraints:"):
        lines = re.findall(r"^    - ([\w-]+) (>=[\w.]+)$", part, flags=re.MULTILINE)
        listed.append({name.removesuffix("-base") + bound for name, bound in lines})
    needed = {*project["build-system"]["requires"], *project["project"]["dependencies"]}
    assert listed == [needed, {re.sub(r"\[.*\]", "", each) for each in optional}]
    assert f'python_min: "{project["project"]["requires-python"][2:]}"' in recipe


def test_the_conda_package_is_built_from_the_sdist(tmp_path, monkeypatch):
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    index = "https://pypi.org/packages/source/m/multikernel"
    assert f"  url: {index}/multikernel-${{{{ version }}}}.tar.gz\n" in recipe
    assert "sha256:" not in recipe  # the sdist contains this file
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    with_hash = runpy.run_path(str(ROOT / ".ci" / "release.py"))["with_hash"]
    (tmp_path / "sdist").write_bytes(b"files")
    digest = hashlib.sha256(b"files").hexdigest()
    completed = with_hash(recipe, tmp_path / "sdist")
    assert f".tar.gz\n  sha256: {digest}\n\nbuild:" in completed
    assert completed.replace(f"  sha256: {digest}\n", "") == recipe


WITHOUT_EXTRAS = """
import subprocess
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in "pandas pyarrow typer rich skops matplotlib".split():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
"""


def test_the_test_of_the_conda_package_needs_no_extra():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    (code,) = re.findall(r'^      - python -c "(.+)"$', recipe, flags=re.MULTILINE)
    lines = [WITHOUT_EXTRAS, code, "assert model.duality_gap_ > 0.0"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_the_workflow_tries_every_python_that_the_script_does():
    script = (ROOT / ".ci" / "release.py").read_text(encoding="utf-8")
    (versions,) = re.findall(r"^PYTHONS = \((.+)\)$", script, re.MULTILINE)
    workflow = ROOT / ".github" / "workflows" / "release.yml"
    assert f"python-version: [{versions}]" in workflow.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_pinned_actions_with_few_rights(path):
    text = path.read_text(encoding="utf-8")
    assert "\npermissions:\n  contents: read\n" in text
    kept = text.count("with:\n          persist-credentials: false")
    assert text.count("uses: actions/checkout@") == kept
    page = (ROOT / "docs" / "project" / "release.md").read_text(encoding="utf-8")
    for line in re.findall(r"uses: (.*)", text):
        pinned = re.fullmatch(r"([\w/-]+)@([0-9a-f]{40}) # (v[\d.]+)", line)
        assert pinned, line
        action, commit, version = pinned.groups()
        assert f"\n{action} {version} {commit}\n" in page


def test_every_package_has_one_lowest_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["project"]["optional-dependencies"].values()
    lines = {line for group in groups for line in group}
    bounds = [name for name, _ in (line.split(">=") for line in lines if ">" in line)]
    assert sorted(set(bounds)) == sorted(bounds)  # pip takes no two for one


def test_the_page_on_installing_has_all_that_is_needed_and_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "install.rst").read_text(encoding="utf-8")
    (needs,) = re.findall(r"^The library itself needs (.+)\.$", page, re.MULTILINE)
    needed = [line.partition(">=")[0] for line in project["project"]["dependencies"]]
    assert re.split(", | and ", needs.lower()) == needed
    listed = re.findall(r"^``\[(\w+)\]``  ", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(project["project"]["optional-dependencies"])
