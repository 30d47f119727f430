"""pg.jit itself: calls, variants, what stays Python."""
