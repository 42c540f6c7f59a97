"""The WSGI entry point: in production, gunicorn serves the API through it."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

get_resolver().url_patterns  # noqa: B018  # loads all views now instead of in the first request
# Exclude the loaded objects, which are permanent, from garbage collection.
gc.collect()
gc.freeze()
