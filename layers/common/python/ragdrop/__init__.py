"""ragdrop: drop a file in S3, ask questions over HTTP, get answers whose every citation was checked."""

__version__ = "0.1.0"
