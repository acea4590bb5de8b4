"""Local-Rademacher MKL: conv and dc (Cortes and others 2013)."""
