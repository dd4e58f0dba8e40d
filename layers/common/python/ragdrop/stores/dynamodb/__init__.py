"""The registry, visited and telemetry tables in DynamoDB."""
