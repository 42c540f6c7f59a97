"""Places, distances and travel times: one protocol for everything that asks how long a drive takes."""
