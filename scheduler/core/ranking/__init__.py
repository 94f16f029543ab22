"""Which models a phase of an agent may use, and in which order: the scheduling rules, section 1."""
