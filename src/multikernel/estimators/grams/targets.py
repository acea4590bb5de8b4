"""Many targets with selections of their own: every path ends on its own."""

from dataclasses import replace

import numpy as np

from multikernel._typing import Indices
from multikernel.estimators.grams.training import Recipe


def recipe_of_targets(recipe: Recipe, chosen: Indices) -> Recipe:
    """Return the recipe of some of the problems; its numbers are still for all."""
    return replace(
        recipe,
        losses=[recipe.losses[t] for t in chosen.tolist()],
        penalties=[recipe.penalties[t] for t in chosen.tolist()],
    )


def target_blocks(n_targets: int, bytes_each: float, most: float) -> list[Indices]:
    """Return targets in blocks of about equal size, within so many bytes each."""
    size = max(1, int(most // bytes_each))
    everyone = np.arange(n_targets)
    return np.array_split(everyone, -(-n_targets // size))
