"""lp-norm MKL (Kloft and others 2009)."""
