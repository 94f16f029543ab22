"""What one asks for next, as values: whole sheets from documents put in by hand."""
