"""What writes those pages of docs/ that say what the code says."""
