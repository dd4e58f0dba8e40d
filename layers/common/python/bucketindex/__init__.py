"""The bucket index: immutable segments in the state bucket, searched from local copies."""
