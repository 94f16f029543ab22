"""The Celery app. Routes and beat live in the settings, tasks in the packages' `tasks` modules."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.prod")

app = Celery("kubemoot")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
