"""Final errors and what they mean."""

import pytest

from imagepins.build import causes
from imagepins.build.causes import classify, wait_seconds

HEAD = "failed to solve: debian:13: failed to resolve source metadata for docker.io/library/debian:13: "
RUN = 'failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: '


@pytest.mark.parametrize(
    ("error", "name", "retries"),
    [
        (HEAD + "failed to do request: Head https://r/v2/: net/http: TLS handshake timeout", "network", 3),
        (HEAD + "unexpected status from HEAD request to https://r/v2/x: 503 Service Unavailable", "network", 3),
        (HEAD + "read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer", "network", 3),
        ("failed to push localhost:1/x: dial tcp 127.0.0.1:1: connect: connection refused", "network", 3),
        ("failed to copy: unexpected EOF", "network", 3),
        ("toomanyrequests: You have reached your pull rate limit", "rate limit", 4),
        (HEAD + "unexpected status from HEAD request: 429 Too Many Requests", "rate limit", 4),
        (HEAD + "manifest unknown", "not there", 0),
        (HEAD + "docker.io/library/nope:1: not found", "not there", 0),
        (HEAD + "pull access denied, repository does not exist or may require authorization", "not authorised", 0),
        ("failed to push x: unexpected status: 401 Unauthorized", "not authorised", 0),
        ("write /var/lib/docker/tmp/x: no space left on device", "disk full", 0),
        ("failed to solve: dockerfile parse error on line 3: unknown instruction: RUNN", "Dockerfile", 0),
        ('failed to compute cache key: "/x": not found', "Dockerfile", 0),
        ("no match for platform in manifest: not found", "platform", 0),
        ("additional privileges requested", "not allowed", 0),
        ("rpc error: code = Unavailable desc = error reading from server: EOF", "builder gone", 1),
        ("rpc error: code = Unknown desc = no such job abc", "builder lost the build", 1),
        ('ERROR: image "docker.io/library/a:content-3567c7fe": already exists', "tagged at the same time", 2),
        (HEAD + "dial tcp: lookup r on 10.0.0.1:53: no such host", "network", 0),
        (RUN + "1", "step failed", 0),
        (RUN + "137", "out of memory", 1),
        ("something nobody has seen before", "failed", 0),
        (HEAD + "docker.io/team/app:403: not found", "not there", 0),
        (HEAD + "docker.io/team/app:429: not found", "not there", 0),
        (HEAD + "docker.io/team/denied:1: not found", "not there", 0),
        (HEAD + "unexpected status from HEAD request to https://r/v2/503/manifests/401: 404 Not Found", "not there", 0),
        (HEAD + "unexpected status from HEAD request to https://r/v2/x: 403 Forbidden", "not authorised", 0),
        (HEAD + "unexpected status from HEAD request to https://r/v2/x: 520 <none>", "network", 3),
        (HEAD + "received unexpected HTTP status: 502 Bad Gateway", "network", 3),
        ("failed to push ghcr.io/t/x: denied: permission_denied: write_package", "not authorised", 0),
        (
            'error getting credentials - err: exec: "docker-credential-x": executable file not found in $PATH',
            "no credentials",
            0,
        ),
        ('exec: "docker-credential-x": executable file not found in $PATH', "no credentials", 0),
        ('exec: "tool": executable file not found in $PATH', "failed", 0),
    ],
)
def test_the_final_error_decides_the_class_and_whether_to_try_again(error: str, name: str, retries: int) -> None:
    cause = classify(error)
    assert (cause.name, cause.retries) == (name, retries)


@pytest.mark.parametrize("word", ["503", "toomanyrequests", "connection reset by peer", "no space left on device"])
def test_words_in_the_text_of_a_command_do_not_count(word: str) -> None:
    error = f'process "/bin/sh -c echo {word}; exit 1" did not complete successfully: exit code: 1'
    assert classify(error, [word, *["later"] * 10]).name == "step failed"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("c++: fatal error: Killed signal terminated program cc1plus", causes.MEMORY),
        ("std::bad_alloc", causes.MEMORY),
        ("/bin/sh: 1: cc: Killed", causes.MEMORY),
        ("cp: error writing 'x': No space left on device", causes.DISK),
        ("exec /bin/tool: exec format error", causes.PLATFORM),
        ("main.cpp:3: error: expected ';'", causes.STEP),
    ],
)
def test_the_last_lines_tell_memory_disk_and_platform_from_a_compile_error(line: str, cause: causes.Cause) -> None:
    assert classify(RUN + "2", ["make: entering", line]) == cause


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("c++: fatal error: Killed signal terminated program cc1plus", causes.MEMORY),
        ("clang++: error: unable to execute command: Killed", causes.MEMORY),
        ("terminate called after throwing an instance of 'std::bad_alloc'", causes.MEMORY),
        ("LLVM ERROR: out of memory", causes.MEMORY),
        ("fatal error: error writing to /tmp/x.s: No space left on device", causes.DISK),
        ("OSError: [Errno 28] No space left on device", causes.DISK),
        ("-- Looking for std::bad_alloc - found", causes.STEP),
    ],
)
def test_what_other_jobs_print_afterwards_hides_neither_memory_nor_disk(line: str, cause: causes.Cause) -> None:
    assert classify(RUN + "2", [line, *(f"[{n}/99] Building CXX object" for n in range(38))]) == cause


def test_memory_and_a_lost_build_are_tried_again_alone() -> None:
    assert classify(RUN + "137").alone
    assert classify("no such job x").alone
    assert not classify("toomanyrequests").alone


@pytest.mark.parametrize(
    ("error", "attempt", "seconds"),
    [
        ("x", 1, 2.0),
        ("x", 3, 8.0),
        ("x", 20, causes.MAX_WAIT_SECONDS),
        ("toomanyrequests: retry-after: 7", 1, 7.0),
        ("rate limited, retry in 500ms", 1, 0.5),
        ("try again in 2m", 1, 120.0),
        ("Retry-After: 99999", 1, causes.MAX_WAIT_SECONDS),
        ("toomanyrequests: retry-after: 412.5µs, allowed: 44000/minute", 1, 412.5e-6),
        ("retry-after: 412.5us", 1, 412.5e-6),
        ("retry in 250ns", 1, 250e-9),
        ("retry in 1m30s", 1, 90.0),
        ("retry after 3 seconds", 1, 3.0),
        ("try again in 1 minute", 1, 60.0),
        ("retry in 1h", 1, causes.MAX_WAIT_SECONDS),
    ],
)
def test_the_wait_is_what_the_registry_asks_for_and_never_endless(error: str, attempt: int, seconds: float) -> None:
    assert wait_seconds(error, attempt) == pytest.approx(seconds)
