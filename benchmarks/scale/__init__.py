"""What a hundred million chunks would take on AWS, reckoned and simulated."""
