"""Documents over HTTP: put, read, list, delete, retry, purge."""
