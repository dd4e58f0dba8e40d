"""The chunk index in OpenSearch."""
