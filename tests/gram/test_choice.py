"""What storage is chosen, and what is said of it."""

import numpy as np
import pytest
from reference.interactions import interactions_of

from multikernel.estimators import (
    GroupOMPClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
)
from multikernel.exceptions import LongFitWarning
from multikernel.gram import LowRank, LowRankStack, build_stack
from multikernel.gram.choice import choose_storage
from multikernel.gram.costs import LONG
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    ParameterGrid,
)

THIN = ParameterGrid([GaussianKernel(1.0)], range(4))
THICK = ListDictionary([GaussianKernel(0.3), GaussianKernel(0.5)])


def samples(n):
    return np.random.default_rng(0).standard_normal((n, 4))


@pytest.mark.parametrize(
    ("dictionary", "n", "max_bytes", "expected"),
    [
        (THIN, 200, None, "dense"),  # a blink whatever the storage
        (THIN, 4000, None, "low_rank"),
        (THIN, 4000, 10**6, "lazy"),  # not even factors fit
        (THICK, 5000, None, "dense"),  # ranks are as high as whole matrices
        (THICK, 5000, 10**8, "lazy"),
        (ListDictionary([LinearKernel()]), 200, None, "low_rank"),
        # 60 kernels with 4 features each, which together are fewer than the samples
        # or not: their sums are whole matrices then.
        (ListDictionary([LinearKernel()] * 60), 300, None, "low_rank"),
        (ListDictionary([LinearKernel()] * 60), 200, None, "dense"),
        (ListDictionary([LinearKernel()] * 60), 200, 10**6, "low_rank"),
    ],
)
def test_what_is_chosen(dictionary, n, max_bytes, expected):
    choice = choose_storage(dictionary, samples(n), max_bytes=max_bytes)
    assert choice.name == expected
    assert "MB" in choice.reason or "kB" in choice.reason


@pytest.mark.parametrize(
    ("n", "max_bytes", "expected"),
    [
        (200, None, "dense"),  # a blink
        (3000, None, "low_rank"),  # a fraction of the time of whole mains
        (3000, 10**7, "low_rank"),
        (3000, 10**5, "lazy"),
    ],
)
def test_interactions_are_chosen_for_by_their_mains(n, max_bytes, expected):
    X = samples(n)
    pairs = interactions_of(THIN, X)
    choice = choose_storage(pairs, X, "variance", max_bytes=max_bytes)
    assert choice.name == expected
    assert choice.n_kernels == 10
    if expected == "low_rank":
        built = build_stack(pairs, X, normalize="variance", max_bytes=max_bytes)
        held = 2 * built.stack.mains.stack.factors.nbytes
        assert 0.5 < choice.n_bytes / held < 2.0


def test_what_is_asked_for_is_kept():
    for storage in ("dense", "dense32", "lazy", "low_rank", LowRank(max_rank=3)):
        choice = choose_storage(THIN, samples(50), storage=storage)
        assert choice.storage == storage
        assert choice.reason == "it was asked for"


def test_division_after_centering_needs_whole_matrices():
    steps = ("center", "cosine")
    assert choose_storage(THIN, samples(4000), steps).name == "dense"


def test_the_choice_is_built():
    stack = build_stack(THIN, samples(3000)).stack
    assert isinstance(stack, LowRankStack)
    predicted = choose_storage(THIN, samples(3000)).n_bytes
    held = stack.factors.nbytes + stack.residual.roots.nbytes
    assert 0.5 < predicted / held < 2.0


def test_fits_say_what_they_chose(capsys):
    X = samples(60)
    y = np.sign(X[:, 0])
    model = SpicyMKLClassifier(THIN, alpha=0.1, verbose=1).fit(X, y)
    assert model.fit_info_["storage"] == "dense"
    assert model.fit_info_["storage_reason"] in capsys.readouterr().err
    assert (
        GroupOMPClassifier(THIN, storage="low_rank").fit(X, y).fit_info_["storage"]
        == "low_rank"
    )
    searched = SpicyMKLClassifierCV(THIN, n_alphas=3, cv=2, storage="lazy").fit(X, y)
    assert searched.fit_info_["storage"] == "lazy"
    grams = np.stack([kernel(X) for kernel in THIN.kernels], axis=-1)
    given = SpicyMKLClassifier("precomputed", alpha=0.1).fit(grams, y)
    assert given.fit_info_["storage"] == "precomputed"


def test_a_long_fit_says_so_first(monkeypatch):
    monkeypatch.setattr("multikernel.estimators.grams.source.LONG", 0.0)
    X = samples(60)
    message = (
        r"4 kernels on 60 samples with storage 'dense'.* kB.* 'Memory and storage'"
    )
    with pytest.warns(LongFitWarning, match=message):
        SpicyMKLClassifier(THIN, alpha=0.1).fit(X, np.sign(X[:, 0]))


def test_a_greedy_selection_refines_nothing_and_begins_with_all_landmarks():
    X = samples(400)
    y = np.sign(X[:, 0] ** 2 - 1.0)
    narrow = ListDictionary([GaussianKernel(0.8), GaussianKernel(1.2)])
    thin = GroupOMPClassifier(narrow, storage=LowRank(first=5)).fit(X, y)
    whole = GroupOMPClassifier(narrow, storage="dense").fit(X, y)
    np.testing.assert_allclose(
        thin.decision_function(X), whole.decision_function(X), atol=1e-3
    )


def test_ranks_are_looked_at_before_a_fit_is_called_long():
    """Twenty kernels on 50 000 samples took 10 minutes by the highest rank there is."""
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    kernels = ParameterGrid([GaussianKernel(float(s)) for s in range(1, 11)], range(2))
    assert choose_storage(kernels, X, storage="low_rank").seconds < LONG


def test_small_products_are_chosen_without_a_look_at_the_memory(monkeypatch):
    def refuse():
        raise AssertionError("The memory that is left was read.")

    monkeypatch.setattr("multikernel.gram.memory.available_bytes", refuse)
    X = np.random.default_rng(0).normal(size=(60, 4))
    kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    dictionary = interactions_of(ListDictionary(kernels), X)
    assert choose_storage(dictionary, X).name == "dense"
    with pytest.raises(AssertionError, match="was read"):
        choose_storage(dictionary, np.zeros((20_000, 4)))
