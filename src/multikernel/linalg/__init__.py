"""Linear algebra that knows no kernel: threads, shifted systems, quadrature."""
