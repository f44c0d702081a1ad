"""Many sessions in one process each, so that evaluation strategies can be compared (seed 000, section 5)."""
