"""Where state lives: one package an engine."""
