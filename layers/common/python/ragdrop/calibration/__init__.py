"""Calibration: the scale of scores of a model, shipped or learned from a tenant's documents."""
