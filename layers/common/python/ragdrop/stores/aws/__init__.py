"""AWS clients, secrets, stacks, tokens, metrics and traces."""
