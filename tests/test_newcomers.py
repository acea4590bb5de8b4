"""Tasks of newcomers on real data, each in at most 15 lines of their own code."""

import inspect
import io
import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from command_line import run_command
from scipy import sparse
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.feature_selection import f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, PoissonRegressor, RidgeCV
from sklearn.metrics import d2_tweedie_score, log_loss, r2_score
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import multikernel as mk
from multikernel.datasets import load, read_fasta, read_gene_sets
from multikernel.exceptions import DataWarning, IndefiniteKernelError
from multikernel.inspection import (
    bootstrap,
    group_permutation_importance,
    kernel_tests,
    nested_cross_validate,
    scaled_intervals,
    shapley_values,
    stability_selection,
    variance_split,
)
from multikernel.kernels import (
    GaussianKernel,
    LinearKernel,
    Unpenalized,
    Views,
    per_column,
)
from multikernel.regularizers import BlockL1
from multikernel.testing import check_kernel


def shell(command, text=None):
    """Run a line of a shell that begins with multikernel, as a pipe does with text."""
    done = run_command(*command.split()[1:], input=text)
    assert done.exit_code == 0, done.output
    return done.stdout


def omics(data):
    kernels = [GaussianKernel("median"), LinearKernel()]
    views = {name: (columns, kernels) for name, columns in data.views.items()}
    views = Views(views, missing={"protein": "zero"})
    known = data.split == 0
    model = mk.SpicyMKLClassifier(views, selection="shared")
    joint = cross_val_score(model, data.X[known], data.y[known]).mean()
    model.fit(data.X[known], data.y[known])
    fits = bootstrap(model, data.X[known], data.y[known], 20, random_state=0)
    return joint, model.score(data.X[~known], data.y[~known]), fits


@pytest.mark.data("omics_tcga_brca_3views")
def test_omics_joins_views_and_says_how_sure_it_is_of_each():
    data = load("omics_tcga_brca_3views", as_frame=True)
    joint, without_protein, fits = omics(data)
    known = data.split == 0
    for columns in data.views.values():
        alone = make_pipeline(StandardScaler(), SVC())
        view = data.X.loc[known, columns]
        assert joint > cross_val_score(alone, view, data.y[known]).mean()
    assert without_protein > 0.85
    low, high = fits.interval("view_shares")
    assert fits.view_names == ("mrna", "mirna", "protein")
    assert (low[:, 0] > high[:, 1]).all()
    assert (low[:, 2] > 0.0).all()


def neuroimaging(images):
    rows = list(images.data.columns[:32])  # the upper half predicts the lower
    X = images.data[rows].assign(digit=images.target.astype("category"))
    Y = images.data.iloc[:, 32:]
    Y = Y.loc[:, Y.std() > 2.0]
    kernel = GaussianKernel("median")
    groups = {"top": (rows[:16], kernel), "middle": (rows[16:], kernel)}
    groups["digit"] = "digit"
    X, X_new, Y, Y_new = train_test_split(X, Y, train_size=250, random_state=0)
    model = mk.SpicyMKLRegressor(groups).fit(X, Y)
    split = variance_split(model, X_new, Y_new, "view", random_state=0)
    return model, split, (X, X_new, Y, Y_new)


def test_neuroimaging_splits_the_held_out_variance_of_many_targets():
    model, split, (X, X_new, Y, Y_new) = neuroimaging(load_digits(as_frame=True))
    assert split.names == ("top", "middle", "digit")
    assert split.output_names == tuple(Y)
    assert split.shares.shape == (22, 3)
    offset = ((Y_new - model.predict(X_new)).mean() ** 2 / Y_new.var(ddof=0)).to_numpy()
    np.testing.assert_allclose(split.shares.sum(axis=1) - offset, split.r2, rtol=1e-9)
    r2 = split.r2.mean()
    for columns in (list(X)[:16], list(X)[16:32], ["digit"]):
        alone = mk.SpicyMKLRegressor().fit(X[columns], Y)
        assert r2 > alone.score(X_new[columns], Y_new) + 0.05
    coded = pd.get_dummies(X), pd.get_dummies(X_new)
    assert r2 > RidgeCV().fit(coded[0], Y).score(coded[1], Y_new)
    assert split.interval()[0].mean(axis=0).min() > 0.05


def clipped(K):
    eigenvalues, vectors = np.linalg.eigh(K)
    return (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T


def drugs(data):
    K = mk.stack_grams({name: clipped(K) for name, K in data.K.items()})
    model = mk.LpMKLClassifier("precomputed", p=4 / 3)
    joint = cross_val_score(model, K, data.y, scoring="roc_auc", cv=3).mean()
    return K, joint, model.fit(K, data.y).summary()


@pytest.mark.data("dti_e_drugs_kernels")
def test_drugs_have_named_similarities():
    data = load("dti_e_drugs_kernels", as_frame=True)
    K, joint, summary = drugs(data)
    assert set(summary["kernel"]) <= set(data.kernel_names)
    assert summary["kernel"][0] == "simcomp"
    best = mk.FixedWeightsMKLClassifierCV("precomputed", kernel_weights="single", cv=3)
    assert joint > cross_val_score(best, K, data.y, scoring="roc_auc", cv=3).mean()
    # Two matrices are not positive semidefinite: each is refused where it is the model.
    for name in ("minmaxTanimoto", "simcomp"):
        alone = mk.stack_grams({name: data.K[name]})
        with pytest.raises(IndefiniteKernelError, match=f"^{name}: "):
            mk.LpMKLClassifier("precomputed").fit(alone, data.y)


def dna(known, new, model):
    fasta = read_fasta(known)
    python = mk.SpicyMKLClassifier().fit(fasta.sequences, fasta.fields["class"])
    shell(f"multikernel fit {known} --target class -o {model}")
    table = shell(f"multikernel predict {model} {new} --proba")
    accuracy = shell(f"multikernel score {model} {new} --target class --json")
    python_says = python.predict_proba(read_fasta(new).sequences)
    return python_says, pd.read_csv(io.StringIO(table)), json.loads(accuracy)["score"]


@pytest.mark.data("dna_uci_promoters")
def test_dna_is_read_alike_by_both_doors(tmp_path):
    data = load("dna_uci_promoters")
    names = np.where(data.y > 0, "promoter", "other")
    order = np.random.default_rng(0).permutation(106)
    files = tmp_path / "known.fasta", tmp_path / "new.fasta"
    for file, part in zip(files, (order[:76], order[76:]), strict=True):
        records = [f">s{k} class={names[k]}\n{data.sequences[k]}\n" for k in part]
        file.write_text("".join(records))
    python, table, accuracy = dna(*files, tmp_path / "model.skops")
    np.testing.assert_allclose(table["probability_promoter"], python[:, 1], rtol=1e-9)
    letters = np.array([list(text) for text in data.sequences])
    coded = make_pipeline(OneHotEncoder(handle_unknown="ignore"), SVC())
    coded.fit(letters[order[:76]], names[order[:76]])
    assert accuracy > coded.score(letters[order[76:]], names[order[76:]])


def table(file):
    wide = pd.read_csv(file, comment="#")
    rows = wide.melt("Date", var_name="ticker", value_name="price").dropna()
    X, y = rows[["Date", "ticker"]], np.log(rows["price"])
    X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    model = mk.SpicyMKLRegressor(storage="low_rank")
    model = make_pipeline(mk.TableEncoder(max_categories=8), model)
    return model.fit(X, y)[-1], model.score(X_new, y_new), (X, X_new, y, y_new)


def test_a_table_of_dates_and_text_needs_no_hand_made_pipeline():
    matplotlib = pytest.importorskip("matplotlib", reason="has monthly stock prices")
    file = matplotlib.get_data_path() + "/sample_data/Stocks.csv"
    model, r2, (X, X_new, y, y_new) = table(file)
    assert model.fit_info_["storage"] == "low_rank"
    assert model.duality_gap_ <= model.tol
    used = set(model.summary()["kernel"])
    mains = {"category()[ticker]", "linear()[all numbers]"}
    # Every share has a trend of its own.
    assert used == {*mains, "linear()[all numbers] × ticker"}
    words = mk.SpicyMKLRegressor().fit(X[["ticker"]], y)
    assert r2 > words.score(X_new[["ticker"]], y_new) + 0.05


def researcher(X, y):
    @dataclass(frozen=True)
    class Laplacian:
        sigma: float

        def __call__(self, X, Y=None):
            return laplacian_kernel(X, Y, gamma=1.0 / self.sigma)

        def diag(self, X):
            return np.ones(len(X))

    check_kernel(Laplacian(20.0), X.to_numpy())
    kernels = [*per_column(Laplacian(10.0), X.shape[1]), Laplacian(20.0)]
    model = mk.MKLRegressor(kernels, regularizer=BlockL1(0.02))
    return model.fit(X, y), cross_val_score(model, X, y)


def test_a_researcher_brings_own_parts():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
    model, scores = researcher(X, y)
    assert model.duality_gap_ <= model.tol
    assert any("Laplacian" in name for name in model.summary()["kernel"])
    one = SVR(kernel=lambda a, b: laplacian_kernel(a, b, gamma=0.05))
    assert scores.mean() > cross_val_score(one, X, y).mean()


def beginner():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return cross_val_score(mk.SpicyMKLRegressor(), X, y).mean()


def test_a_beginner_is_served_by_defaults():
    X, y = load_diabetes(return_X_y=True)
    assert beginner() > cross_val_score(RidgeCV(), X, y).mean()


def notebook(log):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    scaler = StandardScaler().set_output(transform="pandas")
    X = scaler.fit_transform(X)
    model = mk.SpicyMKLClassifierCV(n_alphas=5, cv=2)
    model.fit(X, y, callback=mk.ProgressBar(file=log, every=0.0))
    picture = mk.display.KernelWeightsDisplay.from_estimator(model)
    page = mk.report(make_pipeline(scaler, model), X_new, y_new)
    return model, picture, page


def test_a_notebook_shows_progress_a_table_a_picture_and_a_report():
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures and reports")
    log = io.StringIO()
    model, picture, page = notebook(log)
    assert "100%" in log.getvalue()
    labels = [label.get_text() for label in picture.ax_.get_yticklabels()]
    html = model._repr_html_()
    for name in model.summary()["kernel"]:
        assert name in html
        assert name in page
    assert "gap" in html
    assert "accuracy" in page
    assert any(label.startswith("worst area, width 0.") for label in labels)
    assert not any("(" in label or "sigma" in label for label in labels)
    assert len(repr(model)) < 300
    plt.close("all")


def command_line(known, new, model):
    fit = f"multikernel fit - -t progression --drop id --impute median -o {model}"
    shell(fit, known.read_text())
    inspected = shell(f"multikernel inspect {model}")
    scored = shell(
        f"multikernel score {model} - -t progression --json", new.read_text()
    )
    predicted = shell(f"multikernel predict {model} -", new.read_text())
    return inspected, json.loads(scored)["score"], pd.read_csv(io.StringIO(predicted))


def test_the_command_line_reads_text_and_gaps_from_standard_input(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    table = X.assign(sex=X["sex"].map({1.0: "female", 2.0: "male"}), progression=y)
    table.loc[::9, "bmi"] = table.loc[::11, "sex"] = np.nan
    files = tmp_path / "known.csv", tmp_path / "new.csv"
    table.iloc[:300].to_csv(files[0], index_label="id")
    table.iloc[300:].to_csv(files[1], index_label="id")
    inspected, r2, predicted = command_line(*files, tmp_path / "model.skops")
    assert "[sex]" in inspected
    assert r2 == pytest.approx(r2_score(y[300:], predicted["prediction"]))
    coded = pd.get_dummies(table.drop(columns="progression"))
    linear = make_pipeline(SimpleImputer(strategy="median"), RidgeCV())
    assert r2 > linear.fit(coded[:300], y[:300]).score(coded[300:], y[300:])


def confounders(X, y):
    kernels = {
        "measured": [c for c in X if c not in ("age", "sex")],
        "confounders": Unpenalized(["age", "sex"]),
    }
    model = mk.SpicyMKLRegressorCV(kernels).fit(X, y)
    strong = mk.SpicyMKLRegressor(kernels, alpha=1e4).fit(X, y)
    return model, strong


@pytest.mark.filterwarnings("ignore:.*no active kernel")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_clinician_keeps_confounders_out_of_the_selection():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = (X / X.std()).assign(sex=np.where(X["sex"] > 0.0, "male", "female"))
    model, strong = confounders(X, y)
    columns = np.column_stack([X["age"], X["sex"] == "male"])
    plain = LinearRegression().fit(columns, y)
    np.testing.assert_allclose(strong.unpenalized_coef_, plain.coef_, rtol=1e-6)
    assert model.unpenalized_names_ == ["age", "sex=male"]
    # What is left is orthogonal to the confounders.
    residuals = y - model.predict(X)
    np.testing.assert_allclose(columns.T @ residuals, 0.0, atol=1e-6 * len(y))
    assert model.best_score_ > 0.45


def relapses(cancer):
    X = cancer.X.drop(columns=["time", "lymph_node_status"])
    y = pd.DataFrame({"event": cancer.y == 1, "time": cancer.X["time"]})
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, mk.SpicyMKLSurvivalCV(n_alphas=10, cv=3))
    model.fit(X[::2], y[::2])
    page = mk.report(model, X[1::2], y[1::2])
    return model.predict(X[1::2]), model.score(X[1::2], y[1::2]), page


@pytest.mark.data("uci_wpbc")
def test_an_oncologist_predicts_relapses_of_which_most_were_not_seen():
    pytest.importorskip("matplotlib")
    cancer = load("uci_wpbc", as_frame=True)
    risk, score, page = relapses(cancer)
    event, time = (np.asarray(v)[1::2] for v in (cancer.y == 1, cancer.X["time"]))
    # Harrell's index, written out.
    order = [
        (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
        for i in np.flatnonzero(event)
        for j in range(len(risk))
        if time[i] < time[j] or (time[i] == time[j] and not event[j])
    ]
    assert score == pytest.approx(np.mean(order))
    assert score > 0.55
    assert "Predicted thirds" in page


def severity(X, grade):
    order = ["slow", "steady", "fast", "rapid"]
    model = mk.SpicyMKLOrdinalCV(order=order, n_alphas=6, cv=2)
    model.fit(X[:300], grade[:300])
    return model, model.predict_median(X[300:])


def test_a_physician_predicts_grades_nearer_than_the_middle_one():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    grades = np.digitize(y, [87, 140, 211])
    names = np.array(["slow", "steady", "fast", "rapid"])
    model, predicted = severity(X, names[grades])
    numbers = np.array([names.tolist().index(name) for name in predicted])
    wrong = np.abs(numbers - grades[300:]).mean()
    assert wrong < 0.8 * np.abs(np.median(grades[:300]) - grades[300:]).mean()
    # Thresholds are those of plain likelihood beside the function.
    f = model.linear_predictor(X[:300])
    below = 1.0 / (1.0 + np.exp(f[:, None] - model.thresholds_))
    shares = np.bincount(grades[:300]).cumsum()[:-1] / 300
    np.testing.assert_allclose(below.mean(axis=0), shares, atol=0.02)


def prediction(X, y):
    model = mk.SpicyMKLRegressorCV(intervals=True).fit(X[:300], y[:300])
    return model, model.predict_interval(X[300:], coverage=0.9)


def test_a_prediction_comes_with_an_interval():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model, (low, high) = prediction(X, y)
    # 142 of them: three standard errors around the share that is asked for.
    inside = np.mean((low <= y[300:]) & (y[300:] <= high))
    assert abs(inside - 0.9) < 3.0 * np.sqrt(0.9 * 0.1 / 142)
    # The reference: fits without each fold, as in the definition of CV+.
    alone = mk.SpicyMKLRegressor(alpha=model.best_params_["alpha"])
    lower, upper = [], []
    for train, test in KFold(5).split(X[:300]):
        alone.fit(X[train], y[train])
        off = np.abs(y[test] - alone.predict(X[test]))[:, None]
        lower.append(alone.predict(X[300:]) - off)
        upper.append(alone.predict(X[300:]) + off)
    reference = [
        np.sort(np.concatenate(lower), axis=0)[300 - 271],
        np.sort(np.concatenate(upper), axis=0)[271 - 1],
    ]
    np.testing.assert_allclose((low, high), reference, atol=0.1 * y.std())


def probabilities(X, y, X_new, y_new):
    model = mk.SpicyMKLClassifierCV().fit(X, y)
    inner = mk.SpicyMKLClassifier(alpha=model.alpha_)
    calibrated = CalibratedClassifierCV(inner, cv=5, ensemble=False).fit(X, y)
    return model, calibrated, mk.report(model, X_new, y_new)


@pytest.mark.slow
def test_probabilities_are_drawn_and_calibrated_by_folds():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X, X_new, y, y_new = train_test_split(X, y, train_size=200, random_state=0)
    model, calibrated, page = probabilities(X, y, X_new, y_new)
    assert "<h2>Calibration</h2>" in page
    losses = [log_loss(y_new, m.predict_proba(X_new)) for m in (model, calibrated)]
    assert f"<th>log loss</th><td>{losses[0]:.3g}</td>" in page
    constant = log_loss(y_new, np.full(len(y_new), y.mean()))
    assert max(losses) < 0.3 * constant


def association(X, y):
    kernels = per_column(LinearKernel(), X.shape[1])
    tests = kernel_tests(kernels, X, y, n_permutations=199, random_state=0)
    return tests.p_values, tests.family_wise_p


def test_a_geneticist_gets_a_p_value_of_every_kernel():
    X, y = load_diabetes(return_X_y=True)  # the targets are whole numbers
    alone, together = association(X, y)
    np.testing.assert_allclose(alone, f_regression(X, y)[1], rtol=1e-6)
    assert np.all(together[[2, 8]] == 0.005)
    assert together[1] > 0.3


def counts(X, visits):
    kernels = {"body": [2, 3], "who": Unpenalized([0, 1])}
    model = mk.SpicyMKLRegressor(kernels, loss="poisson", alpha=0.02).fit(X, visits)
    strong = mk.SpicyMKLRegressor(kernels, loss="poisson", alpha=10.0, tol=1e-8)
    return model, strong.fit(X, visits)


@pytest.mark.filterwarnings("ignore:.*no active kernel")
def test_an_economist_counts_visits():
    X, _ = load_diabetes(return_X_y=True)
    visits = np.random.default_rng(0).poisson(np.exp(1.0 + 20.0 * X[:, 2]))
    model, strong = counts(X, visits)
    plain = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=1000)
    plain.fit(X[:, :2], visits)
    np.testing.assert_allclose(strong.predict(X), plain.predict(X[:, :2]), rtol=1e-6)
    assert model.score(X, visits) > plain.score(X[:, :2], visits) + 0.1


def visits(n_patients, rng):
    """Return eight visits of each patient: a marker, a dose and noise, and outcomes."""
    patient = np.repeat(np.arange(n_patients), 8)
    X = pd.DataFrame(rng.normal(size=(8 * n_patients, 3)), columns=list("mdn"))
    X["m"] = rng.normal(size=n_patients)[patient]
    level = X["m"] + 0.5 * rng.normal(size=n_patients)[patient]
    return X, level + X["d"] + 0.3 * rng.normal(size=8 * n_patients), patient


def repeated_measures(X, y, patient):
    views = {"marker": "m", "dose": "d", "noise": "n"}
    search = mk.SpicyMKLRegressorCV(views, cv=5, intervals=True)
    search.fit(X, y, groups=patient)
    model, known = mk.SpicyMKLRegressor(views, alpha=0.3), {"groups": patient}
    fits = bootstrap(model, X, y, 30, random_state=0, **known)
    halves = stability_selection(model, X, y, 20, random_state=0, **known)
    split = variance_split(search, X, y, "view", random_state=0, **known)
    falls = group_permutation_importance(
        search, X, y, "view", sample_groups=patient, random_state=0
    )
    tests = kernel_tests(model, X, y, permute="groups", random_state=0, **known)
    return search, fits, halves, split, falls, tests


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_repeated_measures_keep_patients_together_everywhere():
    rng = np.random.default_rng(0)
    X, y, patient = visits(30, rng)
    search, fits, halves, split, falls, tests = repeated_measures(X, y, patient)
    X_new, y_new, _ = visits(200, rng)
    low, high = search.predict_interval(X_new, 0.9)
    covered = (low <= y_new) & (y_new <= high)
    # 200 new patients: three standard errors of their mean coverage.
    error = covered.groupby(np.repeat(np.arange(200), 8)).mean().std() / np.sqrt(200)
    assert abs(covered.mean() - 0.9) < 3.0 * error + 0.03
    views = {"marker": "m", "dose": "d", "noise": "n"}
    model = mk.SpicyMKLRegressor(views, alpha=0.3)
    by_rows = bootstrap(model, X, y, 30, random_state=0)
    spread = [np.ptp(f.interval("view_shares"), axis=0)[0] for f in (fits, by_rows)]
    assert spread[0] > 1.3 * spread[1]
    names = [halves.kernel_names[m] for m in halves.stable_kernels]
    assert any("[dose]" in name for name in names)
    assert not any("[noise]" in name for name in names)
    assert split.shares.argmin() == 2
    assert falls.importances_mean[:2].min() > 0.3
    assert "noise" not in falls.group_names or falls.importances_mean[2] < 0.05
    p = {view: tests.view_p[view][0] for view in split.names}
    assert max(p["marker"], p["dose"]) < 0.01 < p["noise"]


def exposures(X, events, offset, grid):
    with config_context(enable_metadata_routing=True):
        model = mk.SpicyMKLRegressor(loss="poisson").set_fit_request(offset=True)
        pipeline = make_pipeline(StandardScaler(), model.set_score_request(offset=True))
        search = GridSearchCV(pipeline, grid, cv=3)
        search.fit(X[:300], events[:300], offset=offset[:300])
        score = search.score(X[300:], events[300:], offset=offset[300:])
    page = mk.report(search, X[300:], events[300:], offset=offset[300:])
    return search, score, page


def test_counts_with_exposures_are_searched_and_reported_as_rates():
    rng = np.random.default_rng(0)
    X, years = rng.normal(size=(450, 3)), rng.uniform(0.2, 10.0, 450)
    events = rng.poisson(years * np.exp(np.sin(2.0 * X[:, 0]) - 0.5))
    search, score, page = exposures(
        X, events, np.log(years), {"spicymklregressor__alpha": [0.3, 0.1, 0.03]}
    )
    rates, weights = events[300:] / years[300:], years[300:]
    predicted = search.best_estimator_.predict(X[300:], offset=np.zeros(150))
    d2 = d2_tweedie_score(rates, predicted, sample_weight=weights, power=1)
    assert score == pytest.approx(d2)
    plain = PoissonRegressor(alpha=0.0)
    plain.fit(X[:300], events[:300] / years[:300], sample_weight=years[:300])
    assert score > plain.score(X[300:], rates, sample_weight=weights) + 0.2
    assert search.best_score_ == pytest.approx(score, abs=0.15)
    assert f"explained beyond the offset</th><td>{score:.3g}</td>" in page
    assert "but none was passed" not in page


def nested_report(X, y):
    views = {"body": ["bmi", "bp"], "serum": [f"s{k}" for k in range(1, 7)]}
    search = mk.SpicyMKLRegressorCV(views | {"age": "age"}, n_alphas=6, cv=2)
    search = make_pipeline(StandardScaler().set_output(transform="pandas"), search)
    nested = nested_cross_validate(search, X, y, cv=3)
    return nested, mk.report(search.fit(X, y), nested=nested)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_report_says_how_good_a_whole_search_is():
    pytest.importorskip("matplotlib")
    X, y = (part[:200] for part in load_diabetes(return_X_y=True, as_frame=True))
    nested, page = nested_report(X, y)
    views = {"body": ["bmi", "bp"], "serum": [f"s{k}" for k in range(1, 7)]}
    search = mk.SpicyMKLRegressorCV(views | {"age": "age"}, n_alphas=6, cv=2)
    whole = make_pipeline(StandardScaler().set_output(transform="pandas"), search)
    np.testing.assert_allclose(nested.scores, cross_val_score(whole, X, y, cv=3))
    table = nested.summary("view").set_index("view")
    assert table["in_use"]["body"] == table["in_use"]["serum"] == 1.0
    assert table["variance_share"]["body"] > table["variance_share"]["age"]
    assert f"<th>mean r2</th><td>{nested.scores.mean():.3g}</td>" in page
    assert f"{nested.scores.std(ddof=1):.3g}</td>" in page


def simplest(X, y):
    views = {column: [column] for column in X}
    best = mk.SpicyMKLRegressorCV(views, n_alphas=10).fit(X, y)
    search = mk.SpicyMKLRegressorCV(views, n_alphas=10, refit="one_standard_error")
    return best, search.fit(X, y)


def test_one_standard_error_gives_a_simpler_model():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    best, search = simplest(X / X.std(), y)
    folds = [best.cv_results_[f"split{k}_test_score"] for k in range(5)]
    folds = np.stack(folds)[:, best.best_index_]
    assert search.best_score_ >= folds.mean() - folds.std(ddof=1) / np.sqrt(5)
    assert search.active_kernels_.size < 0.7 * best.active_kernels_.size


def dated_table(known, new, model):
    columns = "--id ticket --date sold --period week"
    shell(f"multikernel fit {known} -t price {columns} --cv 3 --intervals -o {model}")
    table = shell(
        f"multikernel predict {model} {new} --id ticket --interval 0.9 "
        "--contributions column"
    )
    asked = "--scoring neg_mean_absolute_error --json"
    scored = shell(f"multikernel score {model} {new} -t price --id ticket {asked}")
    return pd.read_csv(io.StringIO(table), dtype={"ticket": str}), json.loads(scored)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_the_command_line_reads_dates_and_keeps_ids(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, 200), "D")
    table = pd.DataFrame({"ticket": [f"{k:06d}" for k in range(200)], "sold": days})
    table["size"] = rng.normal(size=200)
    weekend = days.day_of_week.to_numpy() > 4
    table["price"] = 2.0 * weekend + table["size"] + 0.2 * rng.normal(size=200)
    files = tmp_path / "KNOWN.CSV", tmp_path / "NEW.CSV"
    table[:140].to_csv(files[0], index=False)
    table[140:].to_csv(files[1], index=False)
    answers, scored = dated_table(*files, tmp_path / "model.skops")
    assert answers["ticket"].tolist() == table["ticket"][140:].tolist()
    price = table["price"][140:].to_numpy()
    inside = (answers["low"] <= price) & (price <= answers["high"])
    assert abs(inside.mean() - 0.9) < 3.0 * np.sqrt(0.9 * 0.1 / 60) + 0.03
    terms = answers[[name for name in answers if name.startswith("contribution_")]]
    np.testing.assert_allclose(terms.sum(axis=1), answers["prediction"])
    assert r2_score(price, answers["prediction"]) > 0.85
    error = np.abs(price - answers["prediction"]).mean()
    assert scored["score"] == pytest.approx(-error)


TASKS = [
    association,
    counts,
    relapses,
    severity,
    confounders,
    prediction,
    probabilities,
    omics,
    neuroimaging,
    drugs,
    dna,
    table,
    researcher,
    beginner,
    notebook,
    repeated_measures,
    exposures,
    nested_report,
    simplest,
    dated_table,
]


@pytest.mark.parametrize("task", [*TASKS, command_line])
def test_a_task_is_short(task):
    lines = inspect.getsource(task).splitlines()[1:]
    assert len([line for line in lines if line.strip()]) <= 15


def fingerprints(molecules, activity, folder):
    model = mk.SpicyMKLClassifier("tanimoto").fit(molecules[:300], activity[:300])
    mk.save(model, folder / "model.mkl")
    sparse.save_npz(folder / "new.npz", molecules[300:])
    shell(f"multikernel predict {folder}/model.mkl {folder}/new.npz -o {folder}/p.csv")
    return pd.read_csv(folder / "p.csv")["prediction"].to_numpy()


def test_fingerprints_are_compared_by_tanimoto_also_at_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    bits = rng.random((400, 500)) < rng.choice([0.02, 0.2], (400, 1))
    bits[:, :20] = rng.random((400, 20)) < 0.4
    share = bits[:, :20].sum(axis=1) / bits.sum(axis=1)  # of all bits, not a number
    active = np.where(share > np.median(share), "yes", "no")
    found = fingerprints(sparse.csr_array(bits.astype(float)), active, tmp_path)
    assert np.mean(found == active[300:]) > 0.9


def domain(X, y, new):
    model = mk.SpicyMKLRegressorCV(intervals=True).fit(X, y)
    low, high = scaled_intervals(model, X, y).predict_interval(new, coverage=0.9)
    return model.predict(new), low, high


def test_intervals_know_where_samples_are_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 2))
    noise = 0.1 + 0.2 * (X**2).sum(axis=1)
    y = X[:, 0] + X[:, 1] ** 2 + noise * rng.normal(size=1100)
    predicted, low, high = domain(X[:200], y[:200], X[200:])
    assert 0.87 < np.mean((low < y[200:]) & (y[200:] < high)) < 0.94
    ranks = pd.Series(high - low), pd.Series(np.abs(y[200:] - predicted))
    assert ranks[0].corr(ranks[1], method="spearman") > 0.25


def churn(customers, left):
    scaled = make_column_transformer(
        (StandardScaler(), ["tenure", "charges"]),
        (OneHotEncoder(drop="if_binary", sparse_output=False), ["paperless"]),
        verbose_feature_names_out=False,
    )
    model = make_pipeline(scaled, mk.SpicyMKLClassifier()).fit(customers, left)
    picture = mk.display.ContributionDisplay.from_estimator(model, customers, "tenure")
    found = shapley_values(model, customers, background=customers[:100])
    return model.decision_function(customers), picture.grid[0], found


def test_churn_is_explained_in_its_own_units():
    rng = np.random.default_rng(0)
    tenure, charges = rng.integers(1, 73, 300), rng.uniform(20, 120, 300)
    paperless = rng.choice(["no", "yes"], 300)
    columns = {"tenure": tenure, "charges": charges, "paperless": paperless}
    score = 2.0 * (paperless == "yes") - 0.1 * tenure + rng.normal(size=300)
    f, axis, found = churn(pd.DataFrame(columns), score > np.median(score))
    np.testing.assert_allclose([axis.min(), axis.max()], [tenure.min(), tenure.max()])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), f)
    np.testing.assert_allclose(found.data[:, 0], tenure)
    sizes = np.abs(found.values).mean(axis=0)
    assert sizes[1] < 0.2 * min(sizes[0], sizes[2])


def single_cells(cells, gmt):
    sets = read_gene_sets(gmt, cells, min_genes=2)
    model = mk.SpicyMKLClassifier(sets.views).fit(cells.to_df(), cells.obs["type"])
    return sets, model, mk.display.HeatMapDisplay.from_estimator(model)


def test_single_cells_from_anndata_with_absent_genes(tmp_path):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    kinds = np.repeat(["B", "NK", "T"], 40)
    counts = rng.poisson(2.0, size=(120, 9)).astype(float)
    for place, kind in enumerate(["B", "NK", "T"]):
        counts[kinds == kind, 3 * place] += 4.0
    obs = pd.DataFrame({"type": kinds}, index=[f"cell{i}" for i in range(120)])
    var = pd.DataFrame(index=[f"g{k}" for k in range(9)])
    cells = anndata.AnnData(np.log1p(counts), obs=obs, var=var)
    lines = (f"{k}\tna\tg{3 * j}\tg{3 * j + 1}\tgone" for j, k in enumerate("BNT"))
    (tmp_path / "sets.gmt").write_text("\n".join([*lines, "lost\tna\tgone"]))
    with pytest.warns(DataWarning, match="leaves out 'lost'"):
        sets, model, picture = single_cells(cells, tmp_path / "sets.gmt")
    assert sets.absent == {"B": 1, "N": 1, "T": 1, "lost": 1}
    assert (picture.values.argmax(axis=0) == [0, 1, 2]).all()
    with pytest.raises(TypeError, match=r"AnnData, .* pass X.to_df\(\)"):
        model.predict(cells)
