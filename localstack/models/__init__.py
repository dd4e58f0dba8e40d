"""The two model servers of the laptop: embeddings and answers, in an environment of their own."""
