"""Image refs in their many forms."""

import pytest

from imagepins.errors import UsageError
from imagepins.registry.reference import parse_reference

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("text", "full", "base"),
    [
        ("ubuntu", "docker.io/library/ubuntu:latest", "https://registry-1.docker.io/"),
        ("ubuntu:22.04", "docker.io/library/ubuntu:22.04", "https://registry-1.docker.io/"),
        ("rocm/vllm-dev:base", "docker.io/rocm/vllm-dev:base", "https://registry-1.docker.io/"),
        ("docker.io/rocm/x", "docker.io/rocm/x:latest", "https://registry-1.docker.io/"),
        (f"ubuntu@{DIGEST}", f"docker.io/library/ubuntu@{DIGEST}", "https://registry-1.docker.io/"),
        (f"ubuntu:22.04@{DIGEST}", f"docker.io/library/ubuntu:22.04@{DIGEST}", "https://registry-1.docker.io/"),
        ("ghcr.io/a/b/c:v1", "ghcr.io/a/b/c:v1", "https://ghcr.io/"),
        ("localhost:5000/x:y", "localhost:5000/x:y", "http://localhost:5000/"),
        ("127.0.0.1:5000/x", "127.0.0.1:5000/x:latest", "http://127.0.0.1:5000/"),
        ("host:5000/x", "host:5000/x:latest", "https://host:5000/"),
        ("a__b/c---d:T_1.x-y", "docker.io/a__b/c---d:T_1.x-y", "https://registry-1.docker.io/"),
    ],
)
def test_short_forms_are_spelled_out(text: str, full: str, base: str) -> None:
    reference = parse_reference(text)
    assert (str(reference), reference.base_url) == (full, base)


@pytest.mark.parametrize(
    "text", ["", "UPPER/x", "a b", "x:", "x@sha256:12", "x@", "-x", "https://host/x", "x:y:z", "../x", "x:-tag", "a//b"]
)
def test_what_is_no_ref_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not an image ref"):
        parse_reference(text)
