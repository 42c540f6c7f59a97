"""Clients for upload destinations: S3 buckets and SFTP servers. A file arrives whole or not at all."""
