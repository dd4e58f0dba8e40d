"""What is stale, double or missing while a folder changes, beside other frameworks."""
