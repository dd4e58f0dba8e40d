"""From documents and a question to a checked answer."""
