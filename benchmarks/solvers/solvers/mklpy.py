import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """EasyMKL solves another problem: only accuracy can be compared."""

    name = "MKLpy EasyMKL"
    requirements = ["pip::MKLpy"]
    sampling_strategy = "run_once"

    def skip(self, penalty, K_test, **others):
        return penalty != "lp" or not K_test.size, "Compared by accuracy, with lp."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        self.K, self.y, self.K_test = kernels.K, y, K_test

    def run(self, _):
        from MKLpy.algorithms import EasyMKL
        from sklearn.svm import SVC

        self.model = EasyMKL(lam=0.1, learner=SVC(C=1.0)).fit(list(self.K), self.y)

    def get_result(self):
        return {"test": np.asarray(self.model.decision_function(list(self.K_test)))}
