from benchopt import BaseSolver


class Solver(BaseSolver):
    """Group lasso on exact features; its loss is half a mean of squares."""

    name = "celer"
    requirements = ["pip::celer"]

    def skip(self, penalty, loss, **others):
        return (penalty, loss) != ("l1", "squared_error"), "Its groups are for squares."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        from celer import GroupLasso

        self.y, self.features = y, kernels.features
        # Our squared loss has a half as well, and a sum where celer has a mean.
        self.model = GroupLasso(self.features.sizes, alpha=alpha / len(y))

    def run(self, tolerance):
        self.model.set_params(tol=tolerance).fit(self.features.matrix, self.y)

    def get_result(self):
        return self.features.result(self.model.coef_, self.model.intercept_)
