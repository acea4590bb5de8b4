"""Group-OMP over kernels (Sindhwani and Lozano 2011)."""
