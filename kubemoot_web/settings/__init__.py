"""Settings: `env` reads and checks the environment, `base` turns it into Django's names, the others adjust it."""
