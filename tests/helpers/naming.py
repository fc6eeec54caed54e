"""Names in the engine, which other runs of the tests and people share."""

import secrets

from imagepins.process import run


def own_name(purpose: str) -> str:
    """A name for repositories and containers that no other test, run or machine at the same engine uses."""
    return f"imagepins-test-{purpose}-{secrets.token_hex(6)}"


def tags_of(repository: str) -> list[str]:
    """All tags of a repository at the engine: images are removed by these, never by an id that others may use."""
    return run(["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", repository]).stdout.split()
