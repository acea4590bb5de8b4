"""``multikernel report``: from files to one page."""


def fitted(run, csv, tmp_path):
    model = tmp_path / "model.skops"
    done = run("fit", csv, "-t", "outcome", "--drop", "amount", "-o", model)
    assert done.exit_code == 0, done.stderr
    return model


def test_a_page_from_a_model_file_and_a_table(run, csv, tmp_path):
    page = tmp_path / "report.html"
    model = fitted(run, csv, tmp_path)
    done = run("report", model, csv, "-t", "outcome", "--drop", "amount", "-o", page)
    assert done.exit_code == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "accuracy" in text
    assert "[dose]" in text


def test_without_targets_there_are_no_scores(run, csv, tmp_path):
    page = tmp_path / "report.html"
    model = fitted(run, csv, tmp_path)
    done = run("report", model, csv, "-o", page)
    assert done.exit_code == 0, done.stderr
    assert "Scores" not in page.read_text(encoding="utf-8")


def test_a_folder_that_does_not_exist_is_named(run, csv, tmp_path):
    model = fitted(run, csv, tmp_path)
    done = run("report", model, csv, "-o", tmp_path / "nowhere" / "report.html")
    assert done.exit_code == 1
    assert "does not exist" in done.stderr
