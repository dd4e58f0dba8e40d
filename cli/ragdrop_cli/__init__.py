"""The command line of ragdrop: documents and questions over HTTP, operator commands through the composition root."""
