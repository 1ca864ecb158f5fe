"""Whether artifacts are as they were written, and by whom they are signed."""
