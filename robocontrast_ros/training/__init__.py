"""What learned policies are made with: demonstrations of the oracle, and the training of each policy."""
