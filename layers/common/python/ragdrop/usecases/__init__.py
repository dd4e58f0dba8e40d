"""Orchestration over ports; no SDK is imported here."""
