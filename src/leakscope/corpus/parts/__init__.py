"""The rows of all inputs as parts on disk: columns, read by compiled code where it can, by user."""
