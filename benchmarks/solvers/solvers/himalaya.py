import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """Weights drawn at random, or found by gradients, for a ridge of each target.

    There is no intercept where gradients are taken: targets are centered.
    """

    name = "himalaya"
    requirements = ["pip::himalaya", "pip::torch"]
    parameters = {
        "search": ["random_search", "hyper_gradient"],
        "backend": ["numpy", "torch"],
    }
    sampling_strategy = "iteration"

    def skip(self, penalty, **others):
        return penalty != "targets", "It is for ridges of many targets."

    def set_objective(self, kernels, y, K_test, **others):
        self.K, self.y, self.K_test = kernels.K, y, K_test

    def run(self, n_iter):
        from himalaya.backend import set_backend
        from himalaya.kernel_ridge import MultipleKernelRidgeCV

        backend = set_backend(self.backend)
        K, y, K_test = map(backend.asarray, (self.K, self.y, self.K_test))
        params = {"progress_bar": False}
        if self.search == "random_search":
            params |= {"n_iter": n_iter, "alphas": np.logspace(-4, 4, 17)}
        else:
            params |= {"max_iter": n_iter}
        mean = y.mean(0)
        model = MultipleKernelRidgeCV(
            "precomputed", solver=self.search, solver_params=params, random_state=0
        )
        model.fit(K, y - mean)
        self.test = backend.to_numpy(mean + model.predict(K_test))
        set_backend("numpy")

    def get_result(self):
        return {"test": self.test}
