"""Where kernel matrices are computed, block by block: `matrices` whole, `forms` not."""
