"""Reads over several tables of rides and the apps below."""
