"""What operators and schedules run: sweep, reindex, calibration, health, stats, diagnosis."""
