"""HTTP in and out: routes, request and response schemas."""
