"""Files that are not there, and arrays that cannot be gone through."""

import numpy as np
import pytest

from multikernel import SpicyMKLRegressor


def test_a_missing_file_of_matrices_is_named():
    with pytest.raises(FileNotFoundError, match=r"There is no file nowhere\.npy"):
        SpicyMKLRegressor("precomputed").fit("nowhere.npy", np.arange(4.0))


def test_a_memory_view_of_text_gets_a_sentence():
    view = memoryview(np.array(["word", "text", "word"]))
    with pytest.raises((ValueError, TypeError)):
        SpicyMKLRegressor().fit(view, np.arange(3.0))
