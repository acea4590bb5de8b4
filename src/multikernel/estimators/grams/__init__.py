"""Gram matrices, from which most methods learn."""
