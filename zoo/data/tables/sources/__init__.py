"""Sources of tables: files, the hub, tar shards, streams."""
