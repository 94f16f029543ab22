"""What a model server is, and what was observed of it."""
