"""The implementation of `make run`: installation, secrets, and the processes of a service on one machine."""
