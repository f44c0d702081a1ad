"""What learned policies are made with: recipes, demonstrations of an oracle, and the training of networks."""
