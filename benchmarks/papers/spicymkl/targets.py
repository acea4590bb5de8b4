"""What the solver must reach: accuracy, speed, scale and memory, each with its limit.

``--only`` reruns single parts. Limits on time are stated in passes: all quadratic
forms of one vector by BLAS on the dense stack, timed right before and after.
"""

import targets_cost
import targets_solver
from output import Options, options

PARTS = {**targets_solver.PARTS, **targets_cost.PARTS}


def run(task: Options) -> None:
    """Measure and save every part that was asked for."""
    for name in task.only or tuple(PARTS):
        print(f"\n{name}: {PARTS[name].__doc__.splitlines()[0]}")
        task.save(f"target_{name}", PARTS[name](task.smoke))


if __name__ == "__main__":
    run(options(__doc__, tuple(PARTS)))
