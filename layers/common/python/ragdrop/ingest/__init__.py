"""From an object that changed to chunks that are live."""
