"""What a user of each package writes for one task; bodies are shown on the site.

Every function takes rows to learn from and rows to predict, and returns predictions.
Imports stand inside, as they are part of what a user writes.
"""

from typing import Any


def omics_spicy(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from multikernel import SpicyMKLClassifierCV
    from multikernel.kernels import GaussianKernel, LinearKernel

    kernels = [LinearKernel(), GaussianKernel.grid(3)]
    views = {name: (columns, kernels) for name, columns in views.items()}
    return SpicyMKLClassifierCV(views).fit(X, y).predict(X_test)


def omics_lp(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from multikernel import LpMKLClassifierCV
    from multikernel.kernels import GaussianKernel, LinearKernel

    kernels = [LinearKernel(), GaussianKernel.grid(3)]
    views = {name: (columns, kernels) for name, columns in views.items()}
    return LpMKLClassifierCV(views).fit(X, y).predict(X_test)


def omics_mklpy(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from MKLpy.algorithms import EasyMKL
    from MKLpy.model_selection import cross_val_score
    from sklearn.metrics.pairwise import euclidean_distances, linear_kernel
    from sklearn.svm import SVC

    train, test = [], []
    for columns in views.values():
        A, B = X[:, columns], X_test[:, columns]
        scale = np.mean(np.sum(A**2, axis=1))
        train.append(linear_kernel(A) / scale)
        test.append(linear_kernel(B, A) / scale)
        median = np.median(euclidean_distances(A))
        for width in (0.25 * median, median, 4.0 * median):
            train.append(np.exp(-(euclidean_distances(A) ** 2) / (2 * width**2)))
            test.append(np.exp(-(euclidean_distances(B, A) ** 2) / (2 * width**2)))
    best = max(
        ((lam, C) for lam in (0.01, 0.1, 0.5, 0.9) for C in (0.1, 1, 10, 100)),
        key=lambda pair: np.mean(
            cross_val_score(
                train,
                y,
                EasyMKL(lam=pair[0], learner=SVC(C=pair[1])),
                n_folds=5,
                random_state=0,
            )
        ),
    )
    model = EasyMKL(lam=best[0], learner=SVC(C=best[1])).fit(train, y)
    return model.predict(test)


def omics_himalaya(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from himalaya.kernel_ridge import (
        ColumnKernelizer,
        Kernelizer,
        MultipleKernelRidgeCV,
    )
    from sklearn.pipeline import make_pipeline

    kernelizers = [(name, Kernelizer("linear"), c) for name, c in views.items()]
    for name, columns in views.items():
        for gamma in np.array([1 / 16, 1, 16]) / (2 * X[:, columns].shape[1]):
            kernel = Kernelizer("rbf", kernel_params={"gamma": gamma})
            kernelizers.append((f"{name} {gamma}", kernel, columns))
    classes, codes = np.unique(y, return_inverse=True)
    params = {"n_iter": 100, "alphas": np.logspace(-3, 5, 9), "progress_bar": False}
    model = MultipleKernelRidgeCV(
        "precomputed", solver_params=params, fit_intercept=True, random_state=0
    )
    model = make_pipeline(ColumnKernelizer(kernelizers), model)
    model.fit(X, np.eye(len(classes))[codes])
    return classes[np.argmax(model.predict(X_test), axis=1)]


def omics_scmkl(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    import scmkl

    names = np.array([f"x{i}" for i in range(X.shape[1])])
    groups = {name: names[columns] for name, columns in views.items()}
    classes = np.unique(y)
    values = []
    for one in classes:
        data = scmkl.create_adata(
            np.vstack([X, X_test]),
            names,
            np.concatenate([np.where(y == one, "1", "0"), ["1"] * len(X_test)]),
            groups,
            split_data=np.array(["train"] * len(X) + ["test"] * len(X_test)),
            D=100,
            scale_data=False,
            kernel_type="gaussian",
        )
        data = scmkl.calculate_z(scmkl.estimate_sigma(data), n_features=5000)
        chosen = scmkl.optimize_alpha(data, alpha_array=np.logspace(-3, 0, 8))
        data = scmkl.train_model(data, group_size=2 * data.uns["D"], alpha=chosen)
        values.append(scmkl.predict(data, [], return_probs=True)[2]["1"])
    return classes[np.argmax(values, axis=0)]


def omics_svc(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    grid = {"C": [0.1, 1, 10, 100], "gamma": [1e-4, 1e-3, 1e-2, 1e-1]}
    return GridSearchCV(SVC(), grid, cv=5).fit(X, y).predict(X_test)


def omics_logistic(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    model = LogisticRegressionCV(cv=5, max_iter=1000, use_legacy_attributes=False)
    return model.fit(X, y).predict(X_test)


def cancer_spicy(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from multikernel import SpicyMKLClassifierCV
    from multikernel.kernels import spicy_dictionary

    kernels = spicy_dictionary(X.shape[1])
    return SpicyMKLClassifierCV(kernels).fit(X, y).predict(X_test)


def cancer_lp(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from multikernel import LpMKLClassifier
    from multikernel.kernels import spicy_dictionary

    kernels = spicy_dictionary(X.shape[1])
    return LpMKLClassifier(kernels, p=4 / 3).fit(X, y).predict(X_test)


def cancer_mklpy(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from MKLpy.algorithms import EasyMKL
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
    from sklearn.svm import SVC

    widths = [0.1, 0.25, 0.5, 0.75, *range(1, 21)]
    choices = [list(range(X.shape[1])), *([j] for j in range(X.shape[1]))]
    train, test = [], []
    for columns in choices:
        A, B = X[:, columns], X_test[:, columns]
        for width in widths:
            train.append(rbf_kernel(A, gamma=0.5 / width**2))
            test.append(rbf_kernel(B, A, gamma=0.5 / width**2))
        for degree in (1, 2, 3):
            train.append(polynomial_kernel(A, degree=degree, gamma=1, coef0=1))
            test.append(polynomial_kernel(B, A, degree=degree, gamma=1, coef0=1))
            scale = train[-1].diagonal().mean()
            train[-1], test[-1] = train[-1] / scale, test[-1] / scale
    model = EasyMKL(lam=0.1, learner=SVC(C=10)).fit(train, y)
    return model.predict(test)


def cancer_himalaya(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from himalaya.kernel_ridge import MultipleKernelRidgeCV
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

    widths = [0.1, 0.25, 0.5, 0.75, *range(1, 21)]
    choices = [list(range(X.shape[1])), *([j] for j in range(X.shape[1]))]
    train, test = [], []
    for columns in choices:
        A, B = X[:, columns], X_test[:, columns]
        for width in widths:
            train.append(rbf_kernel(A, gamma=0.5 / width**2))
            test.append(rbf_kernel(B, A, gamma=0.5 / width**2))
        for degree in (1, 2, 3):
            train.append(polynomial_kernel(A, degree=degree, gamma=1, coef0=1))
            test.append(polynomial_kernel(B, A, degree=degree, gamma=1, coef0=1))
            scale = train[-1].diagonal().mean()
            train[-1], test[-1] = train[-1] / scale, test[-1] / scale
    params = {"n_iter": 20, "alphas": np.logspace(-5, 3, 9), "progress_bar": False}
    model = MultipleKernelRidgeCV(
        "precomputed", solver_params=params, fit_intercept=True, random_state=0
    )
    model.fit(np.array(train), np.where(y == 1, 1.0, -1.0))
    return (model.predict(np.array(test)) > 0).astype(int).ravel()


def cancer_scmkl(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    import scmkl

    names = np.array([f"x{i}" for i in range(X.shape[1])])
    data = scmkl.create_adata(
        np.vstack([X, X_test]),
        names,
        np.concatenate([y.astype(str), ["1"] * len(X_test)]),
        {name: np.array([name]) for name in names},
        split_data=np.array(["train"] * len(X) + ["test"] * len(X_test)),
        D=100,
        scale_data=False,
        add_ones=True,
    )
    data = scmkl.calculate_z(scmkl.estimate_sigma(data), n_features=5000)
    data = scmkl.train_model(data, group_size=2 * data.uns["D"], alpha=0.005)
    return np.asarray(scmkl.predict(data)).astype(int)


def cancer_svc(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    grid = {"C": [0.1, 1, 10, 100], "gamma": [1e-3, 1e-2, 1e-1, 1]}
    return GridSearchCV(SVC(), grid, cv=5).fit(X, y).predict(X_test)


def bands_spicy(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from multikernel import SpicyMKLRegressorCV
    from multikernel.kernels import LinearKernel

    views = {name: (columns, LinearKernel()) for name, columns in views.items()}
    model = SpicyMKLRegressorCV(views, selection="separate")
    return model.fit(X, y).predict(X_test)


def bands_lp(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    from multikernel import LpMKLRegressorCV
    from multikernel.kernels import LinearKernel

    views = {name: (columns, LinearKernel()) for name, columns in views.items()}
    model = LpMKLRegressorCV(views, loss="squared_error", selection="separate")
    return model.fit(X, y).predict(X_test)


def bands_himalaya(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from himalaya.ridge import ColumnTransformerNoStack, GroupRidgeCV
    from sklearn.pipeline import make_pipeline

    spaces = [(name, "passthrough", columns) for name, columns in views.items()]
    params = {"n_iter": 20, "alphas": np.logspace(-2, 6, 17), "progress_bar": False}
    model = make_pipeline(
        ColumnTransformerNoStack(spaces),
        GroupRidgeCV("input", solver_params=params, fit_intercept=True, random_state=0),
    )
    return model.fit(X, y).predict(X_test)


def bands_himalaya_kernels(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from himalaya.kernel_ridge import (
        ColumnKernelizer,
        Kernelizer,
        MultipleKernelRidgeCV,
    )
    from sklearn.pipeline import make_pipeline

    spaces = [(name, Kernelizer(), columns) for name, columns in views.items()]
    params = {"n_iter": 20, "alphas": np.logspace(-2, 6, 17), "progress_bar": False}
    model = MultipleKernelRidgeCV(
        "precomputed", solver_params=params, fit_intercept=True, random_state=0
    )
    model = make_pipeline(ColumnKernelizer(spaces), model)
    return model.fit(X, y).predict(X_test)


def bands_himalaya_gradient(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from himalaya.kernel_ridge import (
        ColumnKernelizer,
        Kernelizer,
        MultipleKernelRidgeCV,
    )
    from sklearn.pipeline import make_pipeline

    spaces = [(name, Kernelizer(), columns) for name, columns in views.items()]
    model = MultipleKernelRidgeCV(
        "precomputed",
        solver="hyper_gradient",
        solver_params={"max_iter": 20, "progress_bar": False},
        random_state=0,
    )
    model = make_pipeline(ColumnKernelizer(spaces), model)
    mean, center = y.mean(axis=0), X.mean(axis=0)
    scale = np.sqrt(X.shape[1] / len(spaces))
    model.fit((X - center) / scale, y - mean)
    return mean + model.predict((X_test - center) / scale)


def bands_celer(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from celer import GroupLasso
    from sklearn.model_selection import GridSearchCV

    sizes = [len(range(X.shape[1])[columns]) for columns in views.values()]
    grid = {"alpha": np.logspace(-2, 0.5, 10)}
    models = [GridSearchCV(GroupLasso(sizes), grid).fit(X, target) for target in y.T]
    return np.column_stack([model.predict(X_test) for model in models])


def bands_ridge(X: Any, y: Any, X_test: Any, views: Any) -> Any:
    import numpy as np
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(np.logspace(-2, 6, 17), alpha_per_target=True)
    return model.fit(X, y).predict(X_test)
