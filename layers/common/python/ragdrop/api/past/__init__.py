"""Routes of the past and of what might be: versions, changes, undo, stages, feedback."""
