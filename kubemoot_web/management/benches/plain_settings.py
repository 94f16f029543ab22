"""The settings of a plain Django project that has one view and no middleware: the cheapest there is."""

ROOT_URLCONF = "kubemoot_web.management.benches.plain_view"
ALLOWED_HOSTS = ["*"]
MIDDLEWARE: list[str] = []
SECRET_KEY = "nothing is signed with it"  # noqa: S105 - so it is
