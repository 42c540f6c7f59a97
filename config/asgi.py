"""The ASGI entry point: the single-machine default serves everything through it."""

import gc
import os

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

get_resolver().url_patterns  # noqa: B018  # as in wsgi.py
gc.collect()
gc.freeze()
