"""What a fit leaves: models, and what they say of themselves."""
