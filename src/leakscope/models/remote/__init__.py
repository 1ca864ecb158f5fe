"""Models behind an OpenAI-compatible address: they are asked over HTTP, never loaded."""
