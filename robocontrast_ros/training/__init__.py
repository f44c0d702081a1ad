"""Training of learned policies: recipes, demonstrations of an oracle, and the training of networks."""
