"""Training on several processes of one machine: who they are, what they add up, how they end."""
