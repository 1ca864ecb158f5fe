"""Remote storage: URLs such as s3://bucket/corpus, mirrored in a private local directory."""
