"""Settings shared by all tests."""

from hypothesis import settings

# The first example may compile; time says nothing about correctness.
settings.register_profile("multikernel", deadline=None, max_examples=25)
settings.load_profile("multikernel")
