"""The ASGI entry point: on a single machine, the default is to serve everything through it."""

import gc
import os

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

get_resolver().url_patterns  # noqa: B018  # see wsgi.py
gc.collect()
gc.freeze()
