import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """Searches with a selection for each target, everything else at its default."""

    name = "multikernel"
    parameters = {"kind": ["SpicyMKLRegressorCV", "LpMKLRegressorCV"]}
    sampling_strategy = "run_once"

    def skip(self, penalty, **others):
        return penalty != "targets", "These search weights for many targets."

    def set_objective(self, kernels, y, K_test, **others):
        # Samples come first, kernels last.
        self.K, self.y = np.moveaxis(kernels.K, 0, -1), y
        self.K_test = np.moveaxis(K_test, 0, -1)

    def run(self, _):
        from multikernel import estimators

        kind = getattr(estimators, self.kind)
        model = kind("precomputed", loss="squared_error", selection="separate")
        self.test = model.fit(self.K, self.y).predict(self.K_test)

    def get_result(self):
        return {"test": self.test}
