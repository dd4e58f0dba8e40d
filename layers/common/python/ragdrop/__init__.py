"""ragdrop: drop a file in S3, ask questions over HTTP, get answers with checked citations."""

__version__ = "0.1.0"
