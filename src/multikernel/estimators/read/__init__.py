"""What comes in: tables, text, batches, partitions; samples and their kernels."""
