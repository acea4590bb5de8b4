"""What is deprecated works, and says what to use instead and until when."""

import inspect

import pytest

from multikernel._deprecation import deprecated, warn_deprecated


@deprecated(since="1.1", replacement="twice()")
def double(number, *, offset=0):
    """Return twice a number."""
    return 2 * number + offset


def test_a_deprecated_function_does_what_it_did_and_says_what_follows():
    said = r"^double\(\) is deprecated since version 1\.1 and ends with version 1\.3: "
    with pytest.warns(FutureWarning, match=said + r"use twice\(\)\.$") as caught:
        assert double(4, offset=1) == 9
    assert caught[0].filename == __file__  # the line of the caller
    assert list(inspect.signature(double).parameters) == ["number", "offset"]
    assert double.__doc__ == "Return twice a number."


def test_a_parameter_is_deprecated_in_the_users_words():
    said = r"gamma= of GaussianKernel is deprecated since version 1\.9 .* version 1\.11"
    with pytest.warns(FutureWarning, match=said):
        warn_deprecated("gamma= of GaussianKernel", since="1.9", replacement="sigma=")
