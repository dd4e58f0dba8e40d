"""What was, and what might be: the past of documents, answers as of a moment, undo, staged changes."""
