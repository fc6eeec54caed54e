"""Image ref → digest, manifest, config: asked of a registry over its HTTP API, without an engine and without layers."""
