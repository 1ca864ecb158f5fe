"""Gates: what fails a pipeline."""
