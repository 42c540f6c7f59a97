"""Static files with a hash of their content in the name."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also rewrites imports between JavaScript modules, so that a page never mixes two releases."""

    support_js_module_import_aggregation = True
