"""Requests and replies of the API: one model a thing, each field described where it stands.

Nothing here imports a web framework: the tools of agents use the same models, on a desktop too.
"""
