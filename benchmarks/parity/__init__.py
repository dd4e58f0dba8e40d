"""What runs on which engine, and what differs between laptop and AWS."""
