from django.urls import path

from apps.demo import pages

urlpatterns = [path("pause/", pages.pause, name="demo_pause")]
