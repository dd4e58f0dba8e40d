"""Clients of embedding, chat and reranking models (OpenAI protocol), and the prompts."""
