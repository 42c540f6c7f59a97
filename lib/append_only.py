"""Append-only tables: SQL that makes the database refuse everything but inserts."""

from django.db.migrations.operations import RunSQL

# Tests that commit truncate the tables of the test database; TRUNCATE is refused everywhere else.
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
    """Return the migration operation that makes `table` append-only: UPDATE, DELETE and TRUNCATE raise an error."""
    return RunSQL(
        sql=f"""{_FUNCTION}
            CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}
                FOR EACH ROW EXECUTE FUNCTION refuse_to_alter_history();
            CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_alter_history();
        """,
        reverse_sql=f"DROP TRIGGER {table}_append_only ON {table}; DROP TRIGGER {table}_no_truncate ON {table};",
    )


def only_for_owner(table: str, *rights: str) -> RunSQL:
    """Return the migration operation that revokes `rights` on a table from all roles except its owner.

    deploy/roles.sql grants the service's role the same rights on every new table.  Not reversible, because the revoked
    rights are not stored.
    """
    return RunSQL(
        sql=f"""
DO $$
DECLARE holder text;
BEGIN
    FOR holder IN
        SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
        FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = '{table}'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE 'REVOKE {", ".join(rights)} ON {table} FROM ' || holder;
    END LOOP;
END $$;
""",  # noqa: S608  # constant names, values are parameters
        reverse_sql=RunSQL.noop,
    )
