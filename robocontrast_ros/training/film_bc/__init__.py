"""Training of ``film_bc`` and ``film_bc_state``, the policies for Language-Table."""
