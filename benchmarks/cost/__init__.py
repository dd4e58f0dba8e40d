"""What each operation asks of AWS, counted."""
