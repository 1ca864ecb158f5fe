"""What a finished run says of stricter interfaces, and what to do."""
