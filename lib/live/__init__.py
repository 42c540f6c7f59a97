"""Pages that change as the data does: what PostgreSQL tells of, who in this process hears it, and streams to browsers.

docs/adr/0020 says why it is built this way.
"""
