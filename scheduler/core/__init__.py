"""Pure scheduling: frozen values in, frozen values out."""
