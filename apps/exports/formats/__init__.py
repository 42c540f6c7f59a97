"""Export files: columns as SQL, rows by COPY, and the four file formats."""
