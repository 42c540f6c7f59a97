-- Once per database, by psql as a superuser: one role owns the tables and migrates, the other serves and owns nothing.
--     psql --dbname carelane --file deploy/roles.sql
-- Passwords are read from the secrets of a container; elsewhere set them with \password afterwards.
\set owner_password `cat /run/secrets/owner_password 2>/dev/null`
\set app_password `cat /run/secrets/app_password 2>/dev/null`
CREATE ROLE carelane_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE carelane LOGIN PASSWORD :'app_password';
ALTER DATABASE :"DBNAME" OWNER TO carelane_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT ALL ON SCHEMA public TO carelane_owner;
GRANT USAGE ON SCHEMA public TO carelane;
-- Migrations take some of these back, of tables that only grow.
ALTER DEFAULT PRIVILEGES FOR ROLE carelane_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO carelane;
ALTER DEFAULT PRIVILEGES FOR ROLE carelane_owner IN SCHEMA public GRANT USAGE ON SEQUENCES TO carelane;
