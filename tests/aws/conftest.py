"""What the tests beside AWS share."""

collect_ignore = ["sam_transform.py", "sam_variables.py"]  # programs for an environment of their own, no modules here
