"""The WSGI entry point: gunicorn serves the API through it in production."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

get_resolver().url_patterns  # noqa: B018  # loads every view now, rather than in the first request
# What is loaded stays for good: taken out of what the collector walks through, again and again, while it serves.
gc.collect()
gc.freeze()
