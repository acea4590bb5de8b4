"""Gram matrices on an accelerator."""
