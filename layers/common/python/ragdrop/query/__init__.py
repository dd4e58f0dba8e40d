"""From a question to ranked documents."""
