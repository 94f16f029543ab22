"""What one asks for next: a server, a model, the line, the calls. Pure presenters, like the board itself."""
