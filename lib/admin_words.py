"""Names of tables and columns in /admin/, said in the language of the reader.

Models name them in English, most by the name of the attribute alone; standing there marks them (tests/texts.py).
"""

from typing import Final

from django.apps import AppConfig
from django.utils.translation import pgettext_lazy

APP: Final = "app"
TABLE: Final = "table"
COLUMN: Final = "column"


def translate(config: AppConfig) -> None:
    """Have the names of an app, of its tables and of their columns go by the reader from now on."""
    config.verbose_name = pgettext_lazy(APP, str(config.verbose_name))
    for model in config.get_models():
        names = model._meta
        names.verbose_name = pgettext_lazy(TABLE, str(names.verbose_name))
        names.verbose_name_plural = pgettext_lazy(TABLE, str(names.verbose_name_plural))
        for column in (*names.local_fields, *names.local_many_to_many):
            column.verbose_name = pgettext_lazy(COLUMN, str(column.verbose_name))
