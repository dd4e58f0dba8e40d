"""Writes, deletes and questions together for minutes."""
