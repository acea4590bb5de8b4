"""Drawing without a screen, and no figure left open."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def off_screen():
    with mpl.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")
