"""A made-up metro area that a first start shows: places, people, vehicles, and the rides of some weeks.

Nobody and nothing in it exists; telephone numbers come from the range kept for fiction.  Everything follows from one
seed and one day, so that two machines started on the same day show the same rides.
"""
