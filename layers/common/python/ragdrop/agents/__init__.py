"""What agents get over the Model Context Protocol: five tools, documents as resources, a prompt."""
