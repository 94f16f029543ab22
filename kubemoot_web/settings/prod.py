"""What every installation runs, from one computer to a cluster."""

from kubemoot_web.settings.base import *  # noqa: F403 - a settings module is a set of names
