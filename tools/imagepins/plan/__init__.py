"""Targets and their Dockerfiles → graph, content hashes, bake files, CI matrix. No engine, no network."""
