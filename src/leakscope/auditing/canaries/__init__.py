"""What the commands about canaries share: opening their model, and their gate."""
