"""Where one call runs: the decision of the scheduling rules, section 3, and what it rests on."""
