from django.contrib.admin.apps import AdminConfig


class CarelaneAdminConfig(AdminConfig):
    """Django's admin with our site; apart from it, because apps are loaded before models can be."""

    default_site = "config.admin_site.CarelaneAdminSite"
