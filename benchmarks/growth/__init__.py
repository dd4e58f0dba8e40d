"""How time, memory and size grow with chunks, tenants and links."""
