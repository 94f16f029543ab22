"""Commands, and the supervisor behind `manage.py up`."""
