"""The groups of users whom disparate impact sets against each other."""

GROUP_USERS = 5
"""Users with the most training documents, and as many with the fewest (Mireshghallah et al. 2021,
figure 3c)."""
