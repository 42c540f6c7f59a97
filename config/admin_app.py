from django.contrib.admin.apps import AdminConfig


class CarelaneAdminConfig(AdminConfig):
    """Django's admin with the project's admin site; in its own module, because apps are loaded before models."""

    default_site = "config.admin_site.CarelaneAdminSite"
