"""Django's settings, every one of them derived from the checked environment."""

from importlib.util import find_spec
from logging import LogRecord
from typing import Any
from urllib.parse import quote, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from kubemoot_web.settings import env, sockets
from scheduler import task_names

BASE_DIR = env.ROOT
KUBEMOOT = env.load()  # frozen; bootstrap modules build their own frozen configuration from it
KUBEMOOT_VARIABLES = env.variables()
KUBEMOOT.data.mkdir(mode=0o700, parents=True, exist_ok=True)

SECRET_KEY = env.secret_key(KUBEMOOT)
DEBUG = False
ALLOWED_HOSTS = list(KUBEMOOT.hosts)
CSRF_TRUSTED_ORIGINS = [f"https://{host.lstrip('.')}" for host in KUBEMOOT.hosts if host != "*"]

INSTALLED_APPS = [
    "servestatic.runserver_nostatic",
    "django.contrib.admin.apps.SimpleAdminConfig",  # urls.py looks for its pages: only the web process has them
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "ninja",
    "providers",
    "scheduler",
    "kubemoot_web",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "kubemoot_web.access.middleware.ContentSecurityPolicy",
    "kubemoot_web.api.errors.OneErrorShape",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
TOKEN_MIDDLEWARE = ["kubemoot_web.api.errors.OneErrorShape"]  # for programs that send a token: see api/token_handler.py
ROOT_URLCONF = "kubemoot_web.urls"
ASGI_APPLICATION = "kubemoot_web.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database -------------------------------------------------------------------------------------------------------

SQLITE = f"sqlite:///{quote(str(KUBEMOOT.data / 'kubemoot.sqlite3'))}"
try:
    DATABASES: dict[str, dict[str, Any]] = {
        "default": dict(dj_database_url.parse(KUBEMOOT.database_url or SQLITE, conn_health_checks=True))
    }
except (ValueError, KeyError):
    raise ImproperlyConfigured(
        "DATABASE_URL: its value is no database address. Write for example DATABASE_URL=postgres://user:password@db/kubemoot"
    ) from None
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Immediate transactions: a reader that becomes a writer half-way would fail at once instead of waiting its turn.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
elif DATABASES["default"]["ENGINE"].endswith("postgresql") and find_spec("psycopg") is None:
    raise ImproperlyConfigured("DATABASE_URL names PostgreSQL, whose driver is missing: pip install 'psycopg[binary]'")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis or Valkey: one server, told apart by prefixes ------------------------------------------------------------

VALKEY_SOCKET = sockets.socket_path(KUBEMOOT.data)
REDIS_URL = KUBEMOOT.redis_url or f"unix://{VALKEY_SOCKET}?db=0"
REDIS_IS_EMBEDDED = not KUBEMOOT.redis_url
REDIS_PREFIX = f"km:{KUBEMOOT.ledger}:"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": f"{REDIS_PREFIX}cache",
    }
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": REDIS_URL}], "prefix": f"{REDIS_PREFIX}channels"},
    }
}


def _broker_url(url: str) -> str:
    """Write a Redis address the way Celery's broker spells it."""
    if not url.startswith("unix://"):
        return url
    parts = urlsplit(url)
    database = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair).get("db", "0")
    return f"redis+socket://{parts.path}?virtual_host={database}"


CELERY_BROKER_URL = _broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,  # far above the longest task: every task only starts work and returns
    "global_keyprefix": f"{REDIS_PREFIX}celery:",
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_ENABLE_UTC = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "scheduler"
CELERY_TASK_ROUTES = {
    task_names.PROBE_DUE: {"queue": "probes"},
    "scheduler.run_agent": {"queue": "agents"},
    "scheduler.*": {"queue": "scheduler"},
}
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"  # keeps no file: everything is due every second anyway
# Each message dies with its interval: a timer that ran while no worker did leaves nothing to catch up on.
# The tick has history written whenever something happened; once in ten seconds it is looked after regardless.
CELERY_BEAT_SCHEDULE = {
    name: {"task": name, "schedule": every_s, "options": {"expires": every_s}}
    for name, every_s in (
        (task_names.TICK, 1.0),
        (task_names.PROBE_DUE, 1.0),
        (task_names.PROJECT, 10.0),
        (task_names.FORGET, 60.0),
        (task_names.CONFIGURE, 10.0),
    )
}

# People -----------------------------------------------------------------------------------------------------------

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = KUBEMOOT.https
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if KUBEMOOT.https else None
SECURE_HSTS_SECONDS = 31_536_000 if KUBEMOOT.https else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
DATA_UPLOAD_MAX_MEMORY_SIZE = KUBEMOOT.max_body_bytes

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# Static files: served by the web process, no CDN, no build step ---------------------------------------------------

STATIC_URL = "static/"
STATIC_ROOT = KUBEMOOT.data / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}
SERVESTATIC_MANIFEST_STRICT = True

# Logs: events at the edges, never a body, a prompt or a secret ----------------------------------------------------


def _is_not_about_readiness(record: LogRecord) -> bool:
    """Keep "not ready" out of the log: it is the answer to a question, not an error."""
    return getattr(getattr(record, "request", None), "path", "") != "/readyz"


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"unready": {"()": "django.utils.log.CallbackFilter", "callback": _is_not_about_readiness}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "kubemoot_web": {"level": KUBEMOOT.log_level},
        "scheduler": {"level": KUBEMOOT.log_level},
        "providers": {"level": KUBEMOOT.log_level},
        "django.request": {"filters": ["unready"], "level": "ERROR"},  # a client's mistake is the client's news
    },
}
