"""Gram matrices that are computed block by block and forgotten."""
