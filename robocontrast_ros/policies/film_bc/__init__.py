"""FiLM-conditioned behaviour cloning for Language-Table, from ground-truth state or from pixels (docs/film_bc.md)."""
