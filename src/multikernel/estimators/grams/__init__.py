"""Gram matrices: what most methods learn from."""
