"""What the tests beside AWS share."""

collect_ignore = ["sam_transform.py"]  # a program for an environment of its own, not a module of this one
