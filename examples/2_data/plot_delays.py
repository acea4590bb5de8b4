"""
Brain responses: delays, feature spaces and the noise ceiling
=============================================================

An encoding model predicts the response of each voxel from what a person saw and heard
some seconds earlier. This example uses three feature spaces with delays, one
regularization strength and one set of weights per voxel, and compares the result with
the share of variance that any model could explain. The responses are simulated, so the
true answer is known.
"""

# %%
# A film with three feature spaces
# --------------------------------
#
# A row is a scan; scans are two seconds apart. Motion changes slowly, the spectrum of
# the sound quickly, and words appear and disappear.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from multikernel import SpicyMKLRegressorCV
from multikernel.inspection import variance_split
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
# The blood flow responds after two to eight seconds, differently in each voxel. Every
# feature space therefore has one copy of its columns per delay, and the model learns
# the response function as their weights.

DELAYS = [1, 2, 3, 4]


def delayed(features, delays=DELAYS):
    """Return the columns of earlier scans, one block per delay."""
    late = [np.roll(features, delay, axis=0) for delay in delays]
    for delay, columns in zip(delays, late, strict=True):
        columns[:delay] = 0.0  # there is no stimulus before the film
    return np.hstack(late)


def with_delays(spaces):
    """Return the table of all spaces."""
    return np.hstack([delayed(features) for features in spaces.values()])


first_film, second_film = film(350), film(120)
X, X_new = with_delays(first_film), with_delays(second_film)
ends = len(DELAYS) * np.cumsum([0, *SIZES.values()])
views = {
    name: (list(range(first, last)), LinearKernel())
    for name, first, last in zip(SIZES, ends[:-1], ends[1:], strict=True)
}

# %%
# Sixty voxels
# ------------
#
# Twenty voxels respond to motion, twenty to words, and twenty to both sound and words.
# Noise decreases within each group of twenty. The second film is shown six times.

shares = np.repeat([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.5]], 20, axis=0)
noise = np.tile(np.geomspace(2.5, 0.4, 20), 3)
response = np.array([0.3, 1.0, 0.7, 0.2])  # after each delay
weights = [
    np.sqrt(shares[:, k]) * rng.normal(size=(size, 60)) / np.sqrt(size)
    for k, size in enumerate(SIZES.values())
]


def responses(table, n_times=1):
    """Return the responses to a film that is shown `n_times`."""
    delayed_weights = [np.vstack([r * w for r in response]) for w in weights]
    signal = table @ np.vstack(delayed_weights)
    errors = rng.normal(size=(n_times, *signal.shape))
    return signal + noise * errors


Y, repeats = responses(X)[0], responses(X_new, n_times=6)

# %%
# One search for all voxels
# -------------------------
#
# With ``selection="separate"`` every voxel has its own strength and feature spaces.
# Consecutive scans are similar, so folds are contiguous parts of the film.

model = SpicyMKLRegressorCV(
    views, loss="squared_error", selection="separate", cv=KFold(5)
)
model.fit(X, Y)

# %%
# The noise ceiling
# -----------------
#
# Differences between the six repeats are noise, which no model can predict. The mean of
# the repeats has a sixth of the noise variance; the rest of its variance is
# explainable.

mean = repeats.mean(axis=0)
noise_of_mean = repeats.var(axis=0, ddof=1).mean(axis=0) / len(repeats)
ceiling = 1.0 - noise_of_mean / mean.var(axis=0, ddof=1)

# %%
# The share of each feature space
# -------------------------------
#
# The shares of a voxel sum to its R². Noisy voxels stay below their ceiling because
# their training responses are noisy, too.

split = variance_split(model, X_new, mean, n_resamples=2).shares
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
# The right feature spaces have nearly all of the explained variance:

for first, what in enumerate(["motion", "words", "sound and words"]):
    means = split[20 * first : 20 * first + 20].mean(axis=0).round(2)
    print(f"voxels of {what}:", dict(zip(SIZES, means.tolist(), strict=True)))
