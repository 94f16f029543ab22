"""Who may contact an engine, when, and whether again."""
