"""What is written of canaries: the manifest of those that were planted, and what was measured."""
