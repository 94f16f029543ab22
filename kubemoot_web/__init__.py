"""What people and programs see: pages, REST, live updates, commands."""

from kubemoot_web.celery import app as celery_app

__all__ = ("celery_app",)
