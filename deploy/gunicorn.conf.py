"""Gunicorn for production: one process per core, a few threads each, logs in the service's own form.

gunicorn --config deploy/gunicorn.conf.py config.wsgi:application
"""

import os

from lib.process_logging import logging_config

bind = os.environ.get("BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_PROCESSES") or 0) or os.cpu_count() or 1
worker_class = "gthread"
threads = int(os.environ.get("WEB_THREADS", "8"))  # not above DATABASE_POOL_SIZE: threads share that pool
timeout = 30  # seconds; three times the longest statement that PostgreSQL lets through
graceful_timeout = 20
keepalive = 75  # seconds; longer than a proxy keeps its side open, so that the proxy is the one who closes
max_requests = 50_000
max_requests_jitter = 5_000
worker_tmp_dir = "/dev/shm"  # noqa: S108  # heartbeats only; on disk they stall with it
limit_request_line = 8190
limit_request_fields = 50
logconfig_dict = logging_config(level=os.environ.get("LOG_LEVEL", "INFO"))
