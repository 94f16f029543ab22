"""Live updates over WebSocket."""
