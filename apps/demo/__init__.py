"""Fictional metro area that a first start loads: places, people, vehicles, and the rides of some weeks.

No person or place is real; telephone numbers come from the range reserved for fiction.  All data derives from one seed
and one day, so that two machines started on the same day show the same rides.
"""
