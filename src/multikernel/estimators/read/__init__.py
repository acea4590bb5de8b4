"""Read user data: tables, text, partitions, targets, and the kernels for them."""
