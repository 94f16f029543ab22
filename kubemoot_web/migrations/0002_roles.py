"""The three roles that people may have."""

from django.db import migrations


def make_roles(apps, schema_editor):
    """Make a group for each role."""
    for name in ("viewer", "operator", "admin"):
        apps.get_model("auth", "Group").objects.get_or_create(name=name)


class Migration(migrations.Migration):
    """Adds the groups; taking them away again would take them from the people who have them."""

    dependencies = [("kubemoot_web", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
