"""Django's PostgreSQL backend with one thing changed: see `base`."""
