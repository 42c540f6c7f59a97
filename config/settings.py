"""All settings of the service.  Values come from the environment; a missing or unsafe one stops the start.

docs/operations.md describes the variables.
"""

from pathlib import Path
from typing import Any

import django_stubs_ext
import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import databases, setting_validators
from lib.local_run.broker import transport_options
from lib.openapi_tag_order import tag_order
from lib.process_logging import logging_config

django_stubs_ext.monkeypatch()  # Model managers and fields take type arguments at run time

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.FileAwareEnv()  # NAME_FILE=/run/secrets/x is read if NAME is not set

# The only folder that is written to: collected static files, the broker of a single machine, data of `make run`.
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var")))

# --- Deployment -----------------------------------------------------------------------------------

DEBUG = env.bool("DEBUG", default=False)
# Demo accounts, no second factor, plain http on loopback.  The demo commands refuse any database but the embedded one.
DEMO_MODE = env.bool("DEMO_MODE", default=False)
DEMO_SPEED = env.int("DEMO_SPEED", default=1)  # how many times as fast as real ones the demo's drivers are
if DEMO_SPEED not in (1, 10, 60):
    raise ImproperlyConfigured("DEMO_SPEED has to be 1, 10 or 60.")
if DEBUG and not DEMO_MODE:
    raise ImproperlyConfigured("DEBUG shows settings and data to whoever meets an error; it is for demo mode alone.")

SECRET_KEY = setting_validators.secret("SECRET_KEY", env.str("SECRET_KEY"), at_least=50)
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])

# Public address of the service, e.g. https://rides.example.org
BASE_URL = setting_validators.base_url(env.str("BASE_URL"))
PLAIN_HTTP = BASE_URL.startswith("http://")  # only on localhost, see setting_validators

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[environ.urlparse(BASE_URL).hostname or "localhost"])
CSRF_TRUSTED_ORIGINS = [BASE_URL]

# Number of proxies in front of the service; the client address is read this many entries from the right of
# X-Forwarded-For.
TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)

# Processes of the web server, 0 for one per core; also read by deploy/gunicorn.conf.py.
WEB_PROCESSES = env.int("WEB_PROCESSES", default=0)

# --- Applications --------------------------------------------------------------------------------

INSTALLED_APPS = [
    "config.apps.Carelane",
    "apps.organizations",
    "apps.events",
    "apps.audit",
    "apps.accounts",
    "apps.riders",
    "apps.fleet",
    "apps.rides",
    "apps.recurring",
    "apps.dispatch",
    "apps.reporting",
    "apps.exports",
    "apps.webhooks",
    "apps.console",
    "config.admin_app.CarelaneAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.humanize",  # dates on allauth's key pages
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "drf_spectacular_sidecar",  # Swagger UI's files
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
]
if DEMO_MODE:
    INSTALLED_APPS += ["apps.demo"]  # its command creates accounts with known passwords, so production does not have it

MIDDLEWARE = [
    "lib.request_context.RequestContextMiddleware",
    "lib.access_log.AccessLogMiddleware",
    "lib.permissions_policy.PermissionsPolicyMiddleware",
    "lib.api.errors.ApiErrorMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    # Under ASGI Django warns that it consumes synchronous iterators: it reads each file whole, and they are small.
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.console.kit.languages.LanguageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "allauth.usersessions.middleware.UserSessionsMiddleware",
    "apps.console.account.middleware.SignInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False  # the API returns its own 404 for a trailing slash, never a redirect

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.console.shell.navigation.shell",
                *(["apps.demo.pages.control"] if DEMO_MODE else []),
            ],
        },
    },
]

# --- Database ------------------------------------------------------------------------------------

DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", default=8)
DATABASES = databases.of(env, pool_size=DATABASE_POOL_SIZE)
DATABASE_ROUTERS = ["lib.replica.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Caches -----------------------------------------------------------------------------------------

CACHE_URL = setting_validators.cache(env.str("CACHE_URL", default=""))
if CACHE_URL:
    _SHARED = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CACHE_URL,
        # A server that does not respond must not delay requests.
        "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    }
    CACHES: dict[str, dict[str, Any]] = {"default": _SHARED, "throttles": _SHARED}
else:
    CACHES = {
        # All processes have to share sign-in attempts and used codes: a table, if there is no Redis.
        "default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "django_cache"},
        # API limits are counted per process: a database write per request would cost more than the limit protects.
        "throttles": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": "throttles",
            # The default is 300, beyond which random buckets are deleted, and limits would not hold.
            "OPTIONS": {"MAX_ENTRIES": 100_000},
        },
    }

# --- Celery: tasks and schedule; the state is in the database -------------------------------------------

# Without a server: files in the path of the URL, filesystem:///path, or in var/.
BROKER_URL = setting_validators.broker(env.str("BROKER_URL", default="filesystem://"))
CELERY_BROKER_URL = BROKER_URL
CELERY_TASK_DEFAULT_QUEUE = "carelane"
# Tasks that wait for receivers, or for a million rows, have their own queues, so that they do not delay those for
# rides.
CELERY_TASK_ROUTES = {
    "webhooks.deliver": {"queue": "webhooks"},
    "exports.make_exports": {"queue": "exports"},
    "exports.run_schedules": {"queue": "exports"},
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a broker may be down for a day
CELERY_BROKER_CONNECTION_TIMEOUT = 0.5
CELERY_BROKER_TRANSPORT_OPTIONS = transport_options(BROKER_URL, VAR_DIR)
if BROKER_URL.startswith("amqp"):
    # Survives the loss of a node; RabbitMQ 4 has no mirrored classic queues.
    CELERY_TASK_DEFAULT_QUEUE_TYPE = CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = "quorum"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_SOFT_TIME_LIMIT = 45
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 20
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# --- Keys ----------------------------------------------------------------------------------------------

# "id:base64 of 32 bytes", newest first: the first encrypts, all decrypt.  See lib/crypto.py.
ENCRYPTION_KEYS = setting_validators.sealing_keys("ENCRYPTION_KEYS", env.list("ENCRYPTION_KEYS"))
# Key of the blind indexes.
INDEX_KEY = setting_validators.secret("INDEX_KEY", env.str("INDEX_KEY"), at_least=32)
# Peppers of token digests: "id:secret of 32 characters or more", newest first.
TOKEN_PEPPERS = setting_validators.peppers("TOKEN_PEPPERS", env.list("TOKEN_PEPPERS"))
# Encrypts cursors; a separate key for a separate purpose.
CURSOR_KEY = setting_validators.secret("CURSOR_KEY", env.str("CURSOR_KEY", default=SECRET_KEY), at_least=32)

# --- Sign-in --------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 15}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "account_login"

ACCOUNT_ADAPTER = "apps.console.account.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"  # accounts are created by an admin, there is no sign-up
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # seconds
ACCOUNT_RATE_LIMITS = {"login_failed": "5/5m/key,10/m/ip"}
ACCOUNT_SESSION_REMEMBER = False  # shared workstations: the cookie ends with the browser
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXY_COUNT
PASSWORD_RESET_TIMEOUT = 24 * 3600  # lifetime of a one-time link in seconds
MFA_ADAPTER = "apps.console.account.adapters.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Carelane"
MFA_RECOVERY_CODE_DIGITS = 12
MFA_ALLOW_UNVERIFIED_EMAIL = True  # an admin created the account; there is no address row that could be verified
MFA_WEBAUTHN_USER_VERIFICATION = "required"  # a passkey alone signs in, so it has to provide both factors
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = DEMO_MODE  # http://localhost
MFA_REQUIRED = not DEMO_MODE
# Whether admins need a passkey; others may use the codes of an app.
ADMIN_PASSKEY_REQUIRED = env.bool("ADMIN_PASSKEY_REQUIRED", default=False)

SESSION_COOKIE_AGE = 12 * 3600  # absolute limit
SESSION_IDLE_SECONDS = 60 * setting_validators.between(env, "SESSION_IDLE_MINUTES", 15, 2, 60)
SESSION_WARNING_SECONDS = min(120, SESSION_IDLE_SECONDS // 2)  # pages warn when this much is left
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not PLAIN_HTTP
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# The __Host- prefix binds a cookie to https and this host; browsers refuse it over plain http.
SESSION_COOKIE_NAME = "carelane_session" if PLAIN_HTTP else "__Host-session"
CSRF_COOKIE_NAME = "carelane_csrf" if PLAIN_HTTP else "__Host-csrf"

# Sends password links and notices of changed credentials; without a mail server, admins hand over links themselves.
vars().update(env.email_url("EMAIL_URL", default="dummymail://"))
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="carelane@localhost")
EMAIL_TIMEOUT = 10  # seconds; a mail server that hangs must not block a worker
# Further recipients of all alerts: a pager, a shared mailbox.
ALERT_EMAILS = setting_validators.mail_addresses("ALERT_EMAILS", env.list("ALERT_EMAILS", default=[]))

# --- Browser policies -----------------------------------------------------------------------------------

# Base map of the board: a PMTiles file, see docs/operations.md.  The demo has one of its own.
MAP_TILES = env.str("MAP_TILES", default=str(BASE_DIR / "apps" / "demo" / "city.pmtiles") if DEMO_MODE else "")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=not PLAIN_HTTP)
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = not PLAIN_HTTP
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "apps.console.account.views.csrf_failure"

# --- The API -----------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.accounts.api.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["apps.accounts.api.permissions.ScopePermission"],
    "DEFAULT_PARSER_CLASSES": ["lib.api.json.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["lib.api.json.JsonRenderer"],
    "DEFAULT_THROTTLE_CLASSES": ["apps.accounts.api.throttles.TokenThrottle"],
    "DEFAULT_SCHEMA_CLASS": "lib.openapi.OperationSchema",
    "EXCEPTION_HANDLER": "lib.api.errors.exception_handler",
    "DEFAULT_METADATA_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,  # `format` is an unknown query parameter like any other
    "FORMAT_SUFFIX_KWARG": None,
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
API_VERSIONS = ["2026-11-20"]  # dates of the breaking changes, oldest first
# Versions that are going to be removed: {date: lib.api.deprecation.Deprecation}.
API_RETIREMENTS: dict[str, Any] = {}
SPECTACULAR_SETTINGS = {
    "TITLE": "Carelane API",
    "VERSION": API_VERSIONS[-1],
    "DESCRIPTION": "Rides of patients to and from care: book them, follow them, keep systems in step. See docs/api.md.",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api",
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "SERVERS": [{"url": "/api"}],
    "SORT_OPERATIONS": tag_order,
    "SORT_OPERATION_PARAMETERS": False,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    # Without drf-spectacular's enum hook: enums stay inline, because generated names would collide and change.
    "POSTPROCESSING_HOOKS": ["lib.openapi.name_path_parameters", "apps.webhooks.api.openapi.add_webhooks"],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "defaultModelsExpandDepth": -1,  # schemas are shown at the operations that use them
        "docExpansion": "none",  # Swagger UI drops groups once it draws more than some 180 operations at a time
        "filter": True,
        "persistAuthorization": False,  # a token is forgotten with the page
        "validatorUrl": None,  # the document is sent to no third party
    },
}
API_REQUIRE_IF_MATCH = env.bool("API_REQUIRE_IF_MATCH", default=False)
API_TOKEN_CACHE_SECONDS = env.int("API_TOKEN_CACHE_SECONDS", default=5)  # 0: a query for every request
API_RATES = {  # requests per minute and burst
    "read": (env.int("API_RATE_READ", default=600), 100),
    "write": (env.int("API_RATE_WRITE", default=120), 40),
}
API_RATE_CONCURRENT = env.int("API_RATE_CONCURRENT", default=20)  # concurrent requests of one token; 0: no limit
# Requests per minute and address to issue, list, rotate and revoke tokens, for all tokens together.
API_RATE_TOKENS = env.int("API_RATE_TOKENS", default=10)
API_MAX_BODY_BYTES = 1_048_576
API_MAX_BULK_BODY_BYTES = 5 * 1_048_576
DATA_UPLOAD_MAX_MEMORY_SIZE = API_MAX_BULK_BODY_BYTES
UPLOAD_MAX_BYTES = setting_validators.between(env, "UPLOAD_MAX_BYTES", 5_242_880, 1000, 2**25)
FILE_UPLOAD_HANDLERS = ["lib.uploads.InMemory"]

# --- Webhooks ------------------------------------------------------------------------------------------------

# Networks that webhooks may be sent to besides the public internet: interface engines in the hospital's own network.
WEBHOOK_ALLOWED_NETWORKS = setting_validators.networks(
    "WEBHOOK_ALLOWED_NETWORKS",
    env.list("WEBHOOK_ALLOWED_NETWORKS", default=["127.0.0.0/8", "::1"] if DEMO_MODE else []),
)
WEBHOOK_PLAIN_HTTP = env.bool("WEBHOOK_PLAIN_HTTP", default=DEMO_MODE)  # endpoints may be http, on any port
# Rate of replayed deliveries to an endpoint, which have lower priority than live ones.
WEBHOOK_REPLAYS_PER_SECOND = setting_validators.between(env, "WEBHOOK_REPLAYS_PER_SECOND", 10, 1, 1000)
# Retention in days of deliveries, and of events that are not part of a ride's history.
EVENT_RETENTION_DAYS = setting_validators.between(env, "EVENT_RETENTION_DAYS", 30, 1, 3650)
DELIVERY_RETENTION_DAYS = setting_validators.between(env, "DELIVERY_RETENTION_DAYS", 30, 1, 3650)
# The figures of a day are closed this many days after it.
REPORT_LOCK_AFTER_DAYS = setting_validators.between(env, "REPORT_LOCK_AFTER_DAYS", 7, 1, 365)

# --- Exports --------------------------------------------------------------------------------------------------

# Folder of export files until they are downloaded, retention in hours, and the number of exports per person and hour.
EXPORTS_DIR = setting_validators.folder("EXPORTS_DIR", env.str("EXPORTS_DIR", default="")) or VAR_DIR / "exports"
EXPORT_RETENTION_HOURS = setting_validators.between(env, "EXPORT_RETENTION_HOURS", 24, 1, 24 * 31)
# Networks that files may be uploaded to besides the public internet, and whether buckets may use http and any port.
EXPORT_DESTINATION_NETWORKS = setting_validators.networks(
    "EXPORT_DESTINATION_NETWORKS",
    env.list("EXPORT_DESTINATION_NETWORKS", default=["127.0.0.0/8", "::1"] if DEMO_MODE else []),
)
EXPORT_DESTINATION_PLAIN_HTTP = env.bool("EXPORT_DESTINATION_PLAIN_HTTP", default=DEMO_MODE)
EXPORTS_PER_HOUR = setting_validators.between(env, "EXPORTS_PER_HOUR", 10, 1, 1000)

# The downtime pack (docs/operations.md) is made only if a passphrase is set.
DOWNTIME_PASSPHRASE = setting_validators.passphrase("DOWNTIME_PASSPHRASE", env.str("DOWNTIME_PASSPHRASE", default=""))
DOWNTIME_DIR = setting_validators.folder("DOWNTIME_DIR", env.str("DOWNTIME_DIR", default="")) or VAR_DIR / "downtime"
DOWNTIME_COPY_DIR = setting_validators.folder("DOWNTIME_COPY_DIR", env.str("DOWNTIME_COPY_DIR", default=""))

# --- Language, time, files -----------------------------------------------------------------------------------

LANGUAGE_CODE = "en-us"
LANGUAGES = [("en", "English"), ("es", "Español")]  # of pages; the API, tasks and logs are in English
TIME_ZONE = "UTC"  # for storage and API; pages activate the facility's zone
OPERATOR_TIME_ZONE = env.str("OPERATOR_TIME_ZONE", default="America/Chicago")  # for rides without a facility
# Region of phone numbers that are typed without a plus sign: two letters of ISO 3166-1.
PHONE_REGION = setting_validators.phone_region("PHONE_REGION", env.str("PHONE_REGION", default="US"))
# The word for a ride on pages, in mails and PDFs in English: ride or trip (config/ride_term.py).
RIDE_TERM = setting_validators.ride_term("RIDE_TERM", env.str("RIDE_TERM", default="ride"))
OPERATOR_NAME = env.str("OPERATOR_NAME", default="")  # in the heading of printed reports
# The clock of screens and printed pages, for people who have not chosen one: 24 or 12 hours.
CLOCK_HOURS = setting_validators.clock_hours("CLOCK_HOURS", env.int("CLOCK_HOURS", default=24))
# The area in which rides start and end without a warning: latitude, longitude, radius in miles.  Empty: anywhere.
SERVICE_AREA = setting_validators.area("SERVICE_AREA", env.list("SERVICE_AREA", cast=float, default=[]))

STATIC_URL = "/static/"
# File names with hashes need `collectstatic`; otherwise files are served from their source folders.
STATIC_MANIFEST = env.bool("STATIC_MANIFEST", default=not (DEBUG or DEMO_MODE))
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
_STATIC = "lib.static_files.Hashed" if STATIC_MANIFEST else "django.contrib.staticfiles.storage."
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": f"{_STATIC}StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = not STATIC_MANIFEST
# Compiled from locale/ by config/translations.py, into a folder for each term.
LOCALE_PATHS = [VAR_DIR / ("locale" if RIDE_TERM == "ride" else f"locale-{RIDE_TERM}")]
FORMAT_MODULE_PATH = ["config.formats"]

ACCESS_LOG = env.bool("ACCESS_LOG", default=True)  # one line per request, at level INFO
LOGGING = logging_config(level=env.str("LOG_LEVEL", default="INFO"))
