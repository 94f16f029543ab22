#!/usr/bin/env python
"""The command line of Kubemoot."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command named on the command line.

    `--data` is read here, before anything reads the settings, which are made from it.
    """
    for position, argument in enumerate(sys.argv):
        if argument == "--data" and position + 1 < len(sys.argv):
            os.environ["KUBEMOOT_DATA"] = sys.argv[position + 1]
        elif argument.startswith("--data="):
            os.environ["KUBEMOOT_DATA"] = argument.removeprefix("--data=")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.prod")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
