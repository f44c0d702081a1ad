"""The bench that consists of the other nodes, by its requests to them."""
