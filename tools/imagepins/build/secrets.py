"""Host → what a build may read but must never keep: the company's CA bundle and the mirrors of git sources.

Both reach a RUN as BuildKit secrets, so they enter neither a layer nor the cache key, and a Dockerfile says the
canonical address whatever network it is built in.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from imagepins.errors import UsageError
from imagepins.gitrepo.url import parse_mirrors

HOST_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@contextmanager
def build_secrets(mirrors: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """Give the secrets by id, as files that only this user can read and that are gone afterwards."""
    with TemporaryDirectory(prefix="imagepins-") as directory:
        found = {"gitconfig": Path(directory) / "gitconfig"}
        every = {**mirrors, **parse_mirrors(os.environ.get("IMAGEPINS_MIRRORS", ""))}
        found["gitconfig"].write_text(git_config(every), encoding="utf-8")
        found["gitconfig"].chmod(0o600)
        if bundle := ca_bundle():
            found["ca"] = bundle
        yield found


def ca_bundle() -> Path | None:
    """IMAGEPINS_CA_BUNDLE, else the host's own bundle, else None. Raises UsageError where the former is no file."""
    if chosen := os.environ.get("IMAGEPINS_CA_BUNDLE"):
        path = Path(chosen).absolute()
        if not path.is_file():
            raise UsageError(f"IMAGEPINS_CA_BUNDLE: {chosen} is not a file")
        return path
    return next((path for path in map(Path, HOST_BUNDLES) if path.is_file()), None)


def git_config(mirrors: Mapping[str, str]) -> str:
    """Configuration that makes git fetch from the mirrors; empty where there are none."""
    return "".join(
        f'[url "{_quoted(mirror)}"]\n\tinsteadOf = "{_quoted(prefix)}"\n' for prefix, mirror in sorted(mirrors.items())
    )


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
