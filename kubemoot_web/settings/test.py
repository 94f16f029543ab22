"""For the test run: tests/plugin.py has set KUBEMOOT_DATA and REDIS_URL to a folder and a server of its own."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("KUBEMOOT_DATA", str(Path(tempfile.gettempdir()) / f"kubemoot-checks-{os.getuid()}"))
os.environ.setdefault("KUBEMOOT_SECRET_KEY", "only-for-tests-and-type-checks-0123456789")

from kubemoot_web.settings.base import *  # noqa: F403 - the environment comes first
from kubemoot_web.settings.base import DATABASES, KUBEMOOT

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
DATABASES["default"]["TEST"] = {"NAME": str(KUBEMOOT.data / "test.sqlite3")}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
SERVESTATIC_AUTOREFRESH = True
