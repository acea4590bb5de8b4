"""The public interface is what is stored, until somebody changes both."""

import difflib

from interface.listing import STORED, public_interface

HOW = """
The public interface is not the stored one:

{difference}

Was it meant? `make interface` stores it anew. Say it under "API" in CHANGELOG.md and
in docs/project/interface_changes.rst. From version 1.0 on, what is removed or renamed
works for two minor versions more and warns (multikernel._deprecation); a default that
changes stands under "Changed models"; where a format of files rises, earlier ones are
still read. docs/project/versions.rst has the policy.
"""


def test_the_public_interface_is_the_stored_one():
    stored = STORED.read_text(encoding="utf-8").splitlines()
    now = public_interface().splitlines()
    difference = difflib.unified_diff(stored, now, "stored", "now", "", "", 0, "")
    assert stored == now, HOW.format(difference="\n".join(difference))
