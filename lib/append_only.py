"""Tables that only grow: the SQL that makes the database refuse everything but inserts."""

from django.db.migrations.operations import RunSQL

# A test database is emptied between tests that commit; nothing else may TRUNCATE.
_FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_to_alter_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND current_database() LIKE 'test\\_%' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
"""


def append_only(table: str) -> RunSQL:
    """Build the migration operation that turns `table` insert-only: UPDATE, DELETE and TRUNCATE raise."""
    return RunSQL(
        sql=f"""{_FUNCTION}
            CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}
                FOR EACH ROW EXECUTE FUNCTION refuse_to_alter_history();
            CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_alter_history();
        """,
        reverse_sql=f"DROP TRIGGER {table}_append_only ON {table}; DROP TRIGGER {table}_no_truncate ON {table};",
    )
