"""The fit of every estimator: validate the input, build the kernels, solve, publish."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_outlier_detector

from multikernel._typing import Array
from multikernel._validation import CALLBACK, check_parameter, listed, shown
from multikernel.estimators.method import Data, Method, Source
from multikernel.estimators.parameters import (
    find_joint_loss,
    find_loss,
    is_likelihood,
    loss_of,
    shares_selection,
    warn_unused,
)
from multikernel.estimators.progress import make_watch
from multikernel.estimators.publish.fitted import FittedModel
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.partitions import check_partitions
from multikernel.estimators.read.precomputed import labels_of_grams
from multikernel.estimators.read.samples import Samples, read_samples, sort_samples
from multikernel.estimators.read.tables import check_fit_data
from multikernel.exceptions import DictionaryWarning, warn_user
from multikernel.linalg.tables import is_dask
from multikernel.linalg.threads import with_one_blas_thread
from multikernel.losses.answers import raise_if_unsuitable
from multikernel.losses.base import link_of
from multikernel.problem import Callback

# With two threads, searches on 400 to 2000 samples took 1.05 to 1.15 times as long as
# with one thread if both cores were idle, and up to twice as long if another process
# used a core.
ONE_THREAD = 2000
"""Number of samples up to which BLAS uses one thread."""


def fit_estimator(
    estimator: BaseEstimator,
    X: object,
    y: object,
    sample_weight: object,
    callback: Callback | None,
    groups: object = None,
    offset: ArrayLike | None = None,
) -> None:
    """Fit an estimator; if an error is raised, its attributes stay unchanged."""
    estimator._check_parameters()
    method: Method = estimator._method()
    owner = method.source.owner
    check_parameter(owner, "callback", callback, CALLBACK)
    if "epsilon" in vars(estimator):
        warn_unused(estimator)
    samples = read_input(estimator, method.source, X, y, sample_weight, groups, offset)
    if samples.classes is None and getattr(estimator, "loss", None) is not None:
        raise_if_unsuitable(owner, find_loss(estimator.loss), samples.targets.T)
    watch = make_watch(estimator, callback)
    data = method.source.prepare(samples, watch.building)
    learn = partial(method.learn, data, watch)
    with data.naming_errors():
        few = samples.targets.shape[1] <= ONE_THREAD
        attributes = with_one_blas_thread(learn, small=few)
    watch.finish()
    warn_empty(owner, data, attributes)
    publish(estimator, all_attributes(estimator, data, attributes))


def read_input(
    estimator: BaseEstimator,
    source: Source,
    X: object,
    y: object,
    sample_weight: object = None,
    groups: object = None,
    offset: ArrayLike | None = None,
) -> Samples:
    """Validate the input of a fit, and return its samples."""
    per_sample = {"sample_weight": sample_weight, "offset": offset, "groups": groups}
    warn_order(source.owner, X, labels_of_grams(X), y=y, **per_sample)
    if is_dask(X) and (source.parts or not source.partitions):
        raise ValueError(
            f"{source.owner} requires arrays in memory, but X is a Dask collection: "
            "use SpicyMKLClassifier or SpicyMKLRegressor, or pass X.compute()."
        )
    # The scikit-learn tags of the estimator determine which input is accepted.
    check_data = check_partitions if is_dask(X) else check_fit_data
    table = check_data(estimator, source.kernels, X, y)
    shared = shares_selection(estimator)
    samples = read_samples(
        estimator, table, sample_weight, groups, offset, shared=shared
    )
    if not source.takes_columns:
        _refuse_columns(estimator, source.owner, samples)
    if not source.merges_copies:
        return samples
    # A search merges equal samples later, within each fold: a split into folds may
    # separate them.
    return sort_samples(samples, merges_copies=not source.parts)


def _refuse_columns(estimator: BaseEstimator, owner: str, samples: Samples) -> None:
    """Raise for offsets and unpenalized columns if the method does not support them."""
    alternatives = ", or use SpicyMKL, lp-norm MKL, uniform weights or Group-OMP"
    if is_outlier_detector(estimator):
        alternatives = ""
    if hasattr(estimator, "kernel_weights"):
        owner = f"{owner} with kernel_weights={shown(estimator.kernel_weights)}"
    if samples.offset is not None:
        raise ValueError(
            f"{owner} does not support offset: remove this argument{alternatives}."
        )
    if any(not view.penalized for view in samples.table.views):
        raise ValueError(
            f"{owner} does not support Unpenalized columns: remove the Unpenalized "
            f"views from kernels{alternatives}."
        )


def all_attributes(
    estimator: BaseEstimator,
    data: Data,
    attributes: Mapping[str, Any],
    cached: tuple[object, Array] | None = None,
) -> dict[str, object]:
    """Return the attributes of a method and those that every estimator publishes."""
    samples, names = data.samples, data.names
    loss_param = getattr(estimator, "loss", None)
    loss = None if loss_param is None else loss_of(estimator).unit
    # `cached` is an X with its decision values, which predictions do not compute again.
    # Attributes that begin with an underscore, such as ``_model``, become fields of
    # `FittedModel`.
    hidden = {name[1:]: value for name, value in attributes.items() if name[0] == "_"}
    published = {name: value for name, value in attributes.items() if name[0] != "_"}
    state = FittedModel(
        **{"names": names, **hidden},
        precomputed=data.precomputed,
        loss=repr(loss_param),
        has_probabilities=is_likelihood(loss),
        link=find_link(loss, samples),
        deviance=getattr(loss, "deviance", None),
        outputs=samples.output_names,
        known=cached,
        has_offset=samples.offset is not None and bool(samples.offset.any()),
    )
    if names is not None:
        published["n_kernels_"] = names.n_kernels
    if samples.classes is not None:
        published["classes_"] = samples.classes
    return published | vars(samples.table.columns) | {"_state": state}


def find_link(loss: object, samples: Samples) -> str:
    """Return the name of the conversion from decision values to predictions."""
    if samples.classes is None:
        # "log" means that predictions are exponentials of decision values.
        return link_of(find_loss(loss)) or "identity"
    if samples.several:
        # Each column of y is a separate label.
        return "labels"
    multiclass = samples.shared and samples.classes.size > 2
    joint = multiclass and find_joint_loss(find_loss(loss)) is not None
    # "joint" means that the loss depends on all classes at once.
    return "joint" if joint else "one_vs_rest"


def publish(estimator: BaseEstimator, attributes: Mapping[str, object]) -> None:
    """Set the attributes of a fit, and delete attributes that only earlier fits set."""
    old_names = [n for n in vars(estimator) if n.endswith("_") and n[0] != "_"]
    # A search publishes many models to score them. `get_params` reads signatures, which
    # is slow, so it is called only if there are earlier attributes.
    for name in old_names and {*old_names} - {*estimator.get_params(deep=False)}:
        delattr(estimator, name)
    vars(estimator).update(attributes)


def warn_empty(owner: str, data: Data, attributes: Mapping[str, Any]) -> None:
    """Warn if a model, or some of its classes, have no active kernel."""
    samples, has_columns = data.samples, "unpenalized_names_" in attributes
    is_empty = ~np.atleast_2d(attributes.get("block_norms_", 0.0)).any(axis=1)
    is_mixed = is_empty.any() and not is_empty.all()
    if is_mixed and samples.classes is not None and not samples.several:
        names = [samples.output_names[k] for k in np.flatnonzero(is_empty)]
        effect = "are the same for all samples"
        if has_columns:
            effect = "depend on the unpenalized columns only"
        warn_user(
            f"{owner}: no kernel is active for class{'es' * (len(names) > 1)} "
            f"{listed(names)}, whose decision values {effect}: reduce the "
            "regularization."
        )
    active = attributes.get("active_kernels_")
    # A search emits its own warning about the chosen model.
    if active is None or active.size or "best_index_" in attributes:
        return
    advice = "reduce the regularization, or choose it by cross-validation"
    if "selection_order_" in attributes:
        advice = "reduce tol or alpha"
    if data.none_varies or "offset_" in attributes:  # the latter: novelty detection
        advice = "pass kernels that vary between samples"
        if "hull_" in attributes:
            advice = "no column of X varies, so pass other columns"
    elif not np.ptp(samples.targets, axis=1).any() and samples.offset is None:
        advice = "all targets are equal as float64, so pass other targets"
    kind = "depends on its unpenalized columns only" if has_columns else "is a constant"
    warn_user(
        f"{owner} has no active kernel, so the model {kind}: {advice}.",
        DictionaryWarning,
    )
