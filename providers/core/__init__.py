"""Pure values and functions about model servers: no framework, no I/O, no clock."""
