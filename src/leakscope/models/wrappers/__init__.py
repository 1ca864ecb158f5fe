"""Models behind an interface: silent where unsure, behind a block list, one for each user."""
