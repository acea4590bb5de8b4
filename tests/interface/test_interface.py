"""The public interface is what is stored, until somebody changes both."""

import difflib

from interface.listing import STORED, public_interface

HOW = """
The public interface is not the stored one:

{difference}

If the change is intended, run `make interface` to store it, and add a line under "API"
in CHANGELOG.md. A removed or renamed name works for two more minor versions with a
FutureWarning. List a changed default under "Changed models". A new
file format must still read the earlier ones. docs/project/versions.rst has the policy.
"""


def test_the_public_interface_is_the_stored_one():
    stored = STORED.read_text(encoding="utf-8").splitlines()
    now = public_interface().splitlines()
    difference = difflib.unified_diff(stored, now, "stored", "now", "", "", 0, "")
    assert stored == now, HOW.format(difference="\n".join(difference))
