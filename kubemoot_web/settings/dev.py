"""For people who change Kubemoot: tracebacks in the browser, static files straight from their folders."""

from kubemoot_web.settings.base import *  # noqa: F403 - a settings module is a set of names
from kubemoot_web.settings.base import INSTALLED_APPS

INSTALLED_APPS = ["daphne", *INSTALLED_APPS]  # its runserver; elsewhere it would only cost 25 MiB in each process
DEBUG = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
