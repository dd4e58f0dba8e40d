"""Parsers and the chunker: one module a format."""
