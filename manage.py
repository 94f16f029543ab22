#!/usr/bin/env python
"""The command line of Kubemoot."""

import argparse
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command named on the command line.

    `up --data` is read here, before anything reads the settings, which are made from it.
    """
    if sys.argv[1:2] == ["up"]:
        early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        early.add_argument("--data")
        data = early.parse_known_args(sys.argv[2:])[0].data
        os.environ.update({"KUBEMOOT_DATA": data} if data else {})
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.prod")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
