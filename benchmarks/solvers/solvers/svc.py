import numpy as np
from benchopt import BaseSolver
from sklearn.svm import SVC


class Solver(BaseSolver):
    """A machine on the mean, or on the best single kernel by three folds."""

    name = "scikit-learn SVC"
    parameters = {"kernel": ["mean", "best"]}
    sampling_strategy = "run_once"

    def skip(self, penalty, K_test, **others):
        return penalty != "lp" or not K_test.size, "Compared by accuracy, with lp."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        self.K, self.y, self.K_test = kernels.K, y, K_test

    def run(self, _):
        from sklearn.model_selection import cross_val_score

        machine = SVC(C=1.0, kernel="precomputed")
        if self.kernel == "mean":
            train, self.test = self.K.mean(axis=0), self.K_test.mean(axis=0)
        else:
            scores = [cross_val_score(machine, K, self.y, cv=3).mean() for K in self.K]
            best = int(np.argmax(scores))
            train, self.test = self.K[best], self.K_test[best]
        self.model = machine.fit(train, self.y)

    def get_result(self):
        return {"test": self.model.decision_function(self.test)}
