"""Group-OMP: kernels are selected one by one."""
