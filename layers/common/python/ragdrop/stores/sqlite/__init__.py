"""The embedded chunk index and the snapshots in SQLite."""
