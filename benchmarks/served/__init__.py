"""Frameworks and the query function behind HTTP, asked until they are saturated."""
