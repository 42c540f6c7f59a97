from django.db import migrations, models

_NEW = "ride_occurrence_once_live"
_OLD = "ride_occurrence_once"


def _build(name: str, condition: str) -> list[str]:
    # One that was broken off leaves an index behind that is not valid; a second try builds it anew.
    return [
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
        f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON rides_ride (occurrence_key) WHERE {condition}",
    ]


class Migration(migrations.Migration):
    """A ride that was called off may have a successor of the same key."""

    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("rides", "0005_words")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    _build(_NEW, "NOT (occurrence_key = '') AND NOT (status = 'cancelled')"),
                    [f"DROP INDEX CONCURRENTLY IF EXISTS {_NEW}"],
                ),
                migrations.RunSQL(
                    [f"DROP INDEX CONCURRENTLY IF EXISTS {_OLD}"],
                    _build(_OLD, "NOT (occurrence_key = '')"),
                ),
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name="ride", name=_OLD),
                migrations.AddConstraint(
                    model_name="ride",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(
                            models.Q(("occurrence_key", ""), _negated=True),
                            models.Q(("status", "cancelled"), _negated=True),
                        ),
                        fields=["occurrence_key"],
                        name=_NEW,
                    ),
                ),
            ],
        ),
    ]
