"""The HTTP surface: request and response shapes, one module a resource."""
