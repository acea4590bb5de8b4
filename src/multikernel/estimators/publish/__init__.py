"""Results of a fit: models, their fitted attributes, and tables about them."""
