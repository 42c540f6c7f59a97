"""Files put outside of this service, whole or not at all: into buckets that speak S3, and onto servers by SFTP."""
