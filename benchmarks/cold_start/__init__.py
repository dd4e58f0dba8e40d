"""How long functions take to start and how large they are, beside those of other frameworks."""
