"""The routes, one module a subject: HTTP in, one call of a capability, HTTP out."""
