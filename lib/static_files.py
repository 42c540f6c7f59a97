"""Static files under names that change with their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also renames what modules import of one another: a page never mixes two releases."""

    support_js_module_import_aggregation = True
