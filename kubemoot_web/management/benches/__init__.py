"""What `manage.py bench` can measure: a module for each subject, beside the few values they all share."""
