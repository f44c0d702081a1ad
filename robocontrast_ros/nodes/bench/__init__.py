"""The bench that the other nodes make up, by what it asks of them."""
