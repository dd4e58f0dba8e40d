"""Twenty users of a local stack."""
