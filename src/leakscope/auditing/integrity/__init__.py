"""Whether artifacts are as they were written, who signed them, and what unfinished ones keep."""
