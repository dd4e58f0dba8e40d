"""The only modules that import an SDK, a driver or a parser; and the fakes, which keep the same contracts."""
