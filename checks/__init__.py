"""What `make lint` looks for beside style and types: known vulnerabilities of dependencies, and secrets."""
