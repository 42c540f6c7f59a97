"""Every write on rides, by moment: booking, assignment, the driver's reports, endings, corrections, exceptions."""
