"""Argument checks accept what is right and name what was expected."""

import numpy as np
import pytest

from multikernel._validation import (
    AnyOf,
    InstanceOf,
    Number,
    OneOf,
    check_parameter,
    check_weights,
)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (Number(), -3),
        (Number(0.0), 0),
        (Number(0.0, 1.0), np.float32(1.0)),
        (Number(1, integer=True), np.int64(1)),
        (Number(high=-1, integer=True), -1),
        (OneOf(("a", None)), None),
        (OneOf(("a", None)), np.str_("a")),
        (AnyOf((OneOf((None,)), Number(0.0))), 2.0),
        (InstanceOf(str, "a name"), "x"),
    ],
)
def test_right_values_pass(check, value):
    assert check(value) is None
    check_parameter("f", "x", value, check)


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (Number(), "1", "a finite number, got '1'"),
        (Number(), np.inf, "a finite number, got inf"),
        (Number(0.0, above=True), 0.0, "a finite number above 0, got 0.0"),
        (Number(0.0, 1.0, above=True), 0, r"a finite number in \(0, 1\], got 0"),
        (Number(1, integer=True), 1.0, "an integer of at least 1, got 1.0"),
        (Number(high=-1, integer=True), 0, "an integer of at most -1, got 0"),
        (Number(), True, "a finite number, got True"),
        (OneOf(("a", "b")), "c", "one of 'a', 'b', got 'c'"),
        (OneOf((1,)), True, "1, got True"),
        (Number(), np.array(1.0), r"a finite number, got array\(1.\), a 0-d array"),
        (OneOf(("a",)), np.array(["a"]), "'a', got array"),
        (AnyOf((OneOf((None,)), Number(0.0))), -1, "None, or a finite number of at"),
        (InstanceOf(str, "a name"), 3, "a name, got 3"),
    ],
)
def test_wrong_values_get_a_sentence(check, value, expected):
    with pytest.raises(ValueError, match=f"^f: x must be {expected}"):
        check_parameter("f", "x", value, check)


@pytest.mark.parametrize(
    ("digits", "text"), [(400, r"10{299}\.\.\."), (5000, "a huge int")]
)
def test_numbers_beyond_floats_get_a_sentence(digits, text):
    with pytest.raises(ValueError, match=f"f: x must be a finite number, got {text}"):
        check_parameter("f", "x", 10**digits, Number())


def test_weights_that_are_no_numbers_get_a_sentence():
    for weights in ([10**400, 1], ["a", 1], [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match=r"^sample_weight must hold "):
            check_weights(weights, 2)


def test_weights_become_a_vector():
    np.testing.assert_array_equal(check_weights([1, 2], 2), [1.0, 2.0])
    np.testing.assert_array_equal(check_weights(3, 2), [3.0, 3.0])
    assert check_weights(None, 2) is None


def test_weights_that_no_sum_can_hold_count_as_zero():
    weights = check_weights([1.0, 1e-161, 1e-20], 3)
    np.testing.assert_array_equal(weights, [1.0, 0.0, 1e-20])


def test_weights_too_small_for_their_squares_get_a_sentence():
    with pytest.raises(
        ValueError, match=r"sums to 2e-320, but its sum must be from 1e-100"
    ):
        check_weights([1e-320, 1e-320], 2)
