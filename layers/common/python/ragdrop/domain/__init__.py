"""Values that several packages share. Pure: no I/O, no environment, no clock except as an argument."""
