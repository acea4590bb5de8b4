"""Docstrings say of shared parameters and attributes what is stored for all classes."""

from docstrings.writing import DESCRIPTIONS, FOLDER, completed_files
from reference.estimators import MODELS


def test_docstrings_have_the_shared_descriptions():
    files = dict(completed_files())
    outdated = [
        str(path.relative_to(FOLDER))
        for path, text in files.items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert len(files) > 15
    assert not outdated, "`make docstrings` writes what descriptions.toml says"


def test_every_model_is_listed():
    assert DESCRIPTIONS["classes"].keys() == {model.__name__ for model in MODELS}
