"""Tables that leave as files: columns written as SQL, rows by COPY, and the four formats they end in."""
