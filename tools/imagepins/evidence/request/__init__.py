"""A bump → the body of its pull request; an upstream Dockerfile → pins to take over."""
