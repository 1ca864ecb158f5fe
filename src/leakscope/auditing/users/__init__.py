"""Users by name: those whom a report is about, and the one that a person's page is about."""
