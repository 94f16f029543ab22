"""Existing clients, unchanged: the OpenAI, Ollama and Anthropic dialects in front of the scheduler."""
