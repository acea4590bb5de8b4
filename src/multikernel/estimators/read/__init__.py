"""What comes in: tables, text, partitions; samples and their kernels."""
