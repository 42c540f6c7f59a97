"""Live updates of pages: notifications of PostgreSQL, their distribution in the process, and streams to browsers.

docs/adr/0020 explains the design.
"""
