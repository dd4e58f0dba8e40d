"""Tenants: keys, tokens, roles, settings, limits."""
