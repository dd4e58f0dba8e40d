"""Fakes of the ports, for tests; the layer and the wheel leave them out."""
