"""What users hand over, read and checked, and the Gram matrices built of it."""
