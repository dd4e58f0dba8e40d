"""What each function of the API serves: its routes over the parts of the application, for handler and tests alike."""
