"""Breakers and retries around every call to a dependency."""
