"""What the tests beside AWS share."""

collect_ignore = ["sam_variables.py", "cdk_app.py"]  # programs for an environment of their own, no modules here
