"""Who should run where and when."""
