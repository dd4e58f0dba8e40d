"""Pure: no I/O, no environment, no clock except as an argument."""
