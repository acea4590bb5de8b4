"""
A film and sixty voxels: delays, feature spaces and the noise ceiling
=====================================================================

An encoding model predicts the response of each voxel from what was seen and heard some
seconds before. Here are three spaces of features with delays, a strength and weights of
its own for every voxel, and what could have been explained at best. The responses are
simulated, so that we know what is to be found.
"""

# %%
# A film with three feature spaces
# --------------------------------
#
# One row is a scan, every two seconds. Motion changes slowly, the spectrum of the sound
# quickly, and words come and go.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from multikernel import SpicyMKLRegressorCV
from multikernel.inspection import r2_score_split
from multikernel.kernels import LinearKernel

rng = np.random.default_rng(0)
SIZES = {"motion": 24, "sound": 16, "words": 40}


def film(n_scans):
    """Return the features of a film by space, with columns of variance one."""
    noise = rng.normal(size=(n_scans, SIZES["motion"] + SIZES["sound"]))
    for scan in range(1, n_scans):
        noise[scan, : SIZES["motion"]] += 0.8 * noise[scan - 1, : SIZES["motion"]]
    words = rng.random((n_scans, SIZES["words"])) < 0.15
    columns = np.hstack([noise, words])
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    ends = np.cumsum(list(SIZES.values()))[:-1]
    return dict(zip(SIZES, np.split(columns, ends, axis=1), strict=True))


# %%
# Delays
# ------
#
# Blood answers two to eight seconds late, and every voxel in its own time. So a space
# has its columns once for each delay: the weights of these are a response that is
# learnt.

DELAYS = [1, 2, 3, 4]


def delayed(features, delays=DELAYS):
    """Return the columns of some scans before, side by side for every delay."""
    late = [np.roll(features, delay, axis=0) for delay in delays]
    for delay, columns in zip(delays, late, strict=True):
        columns[:delay] = 0.0  # nothing was shown before the film
    return np.hstack(late)


def with_delays(spaces):
    """Return the table of all spaces."""
    return np.hstack([delayed(features) for features in spaces.values()])


learnt_from, shown_again = film(350), film(120)
X, X_new = with_delays(learnt_from), with_delays(shown_again)
ends = len(DELAYS) * np.cumsum([0, *SIZES.values()])
views = {
    name: (list(range(first, last)), LinearKernel())
    for name, first, last in zip(SIZES, ends[:-1], ends[1:], strict=True)
}

# %%
# Sixty voxels
# ------------
#
# Twenty follow the motion, twenty the words, and twenty sound and words alike. The
# first of each twenty are noisy, the last hardly. The second film is shown six times.

shares = np.repeat([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.5]], 20, axis=0)
noise = np.tile(np.geomspace(2.5, 0.4, 20), 3)
response = np.array([0.3, 1.0, 0.7, 0.2])  # after each delay
weights = [
    np.sqrt(shares[:, k]) * rng.normal(size=(size, 60)) / np.sqrt(size)
    for k, size in enumerate(SIZES.values())
]


def answers(table, n_times=1):
    """Return the responses to a film that is shown so often."""
    loads = [np.vstack([late * own for late in response]) for own in weights]
    signal = table @ np.vstack(loads)
    errors = rng.normal(size=(n_times, *signal.shape))
    return signal + noise * errors


Y, again = answers(X)[0], answers(X_new, n_times=6)

# %%
# One search for all voxels
# -------------------------
#
# With ``selection="separate"`` every voxel chooses its strength and its spaces. Scans
# that follow each other are alike: so folds are stretches of the film.

model = SpicyMKLRegressorCV(
    views, loss="squared_error", selection="separate", cv=KFold(5)
)
model.fit(X, Y)

# %%
# The noise ceiling
# -----------------
#
# What differs between the six times is noise, and no model predicts it. The mean over
# them has a sixth of its variance, and the rest is what can be explained.

mean = again.mean(axis=0)
left = again.var(axis=0, ddof=1).mean(axis=0) / len(again)
ceiling = 1.0 - left / mean.var(axis=0, ddof=1)

# %%
# What each space explains, and where
# -----------------------------------
#
# The shares of a voxel sum to its R². Noise in the responses that the model has learnt
# from is why noisy voxels stay below their ceiling.

split = r2_score_split(mean, model.contributions(X_new))
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
base = np.zeros(60)
for values, name in zip(split.T, SIZES, strict=True):
    values = np.maximum(values, 0.0)
    axis.bar(range(60), values, bottom=base, width=1.0, label=name)
    base += values
axis.step(range(60), ceiling, where="mid", color="black", label="noise ceiling")
axis.set(xlabel="voxel", ylabel="share of variance", ylim=(0.0, 1.0))
axis.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.15), frameon=False)

# %%
# Nearly all that is explained goes to the right spaces:

for first, what in enumerate(["motion", "words", "sound and words"]):
    own = split[20 * first : 20 * first + 20].mean(axis=0)
    print(f"voxels of {what}:", dict(zip(SIZES, own.round(2).tolist(), strict=True)))
