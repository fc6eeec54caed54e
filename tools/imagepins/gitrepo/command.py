"""git argv → output, in an environment where nothing prompts, nothing hangs and nobody else's settings leak in.

The user's own configuration (credential helpers, insteadOf, proxies, certificates) stays in force.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

from imagepins import process
from imagepins.errors import NetworkError, RefError
from imagepins.pins.text import masked
from imagepins.process import Completed, ProcessFailed

LOOKUP_SECONDS = 60.0
FETCH_SECONDS = 900.0
"""A first commits-only fetch of a very large repository; a stalled one is cut off by STALL_SECONDS long before."""
STALL_SECONDS = 20
TRIES = 3
RETRY_SECONDS = 60.0
"""After that long without an answer there is no other try: libcurl alone waits 300 s for a server that is silent."""
_BACK_OFF_SECONDS = 0.5

# Variables by which a hook, a worktree or a test harness would point our git at its own repository.
_REPOSITORY_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_QUARANTINE_PATH",
    "GIT_CONFIG",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
)
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "fetch.showForcedUpdates=false",
    # What would come between the fields of a log, or in letters we do not read.
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    f"http.lowSpeedTime={STALL_SECONDS}",
    "http.lowSpeedLimit=100",
    "advice.graftFileDeprecated=false",
)
_FAULTS_OF_THE_NETWORK = re.compile(
    r"could not resolve host|temporary failure in name resolution|connection (refused|reset|timed out|closed)"
    r"|failed to connect|couldn't connect|operation (timed out|too slow)|timed? ?out|early eof|rpc failed"
    r"|the remote end hung up|unexpected disconnect|error: (429|5\d\d)|returned error: (429|5\d\d)"
    r"|gnutls_handshake|ssl_(read|connect|error)|network is unreachable|no route to host|broken pipe",
    re.IGNORECASE,
)
_AUTHENTICATION = re.compile(
    r"terminal prompts disabled|could not read (username|password)|authentication failed|permission denied"
    r"|host key verification failed|returned error: (401|403)|invalid username or (password|token)",
    re.IGNORECASE,
)


_TELLS_NOTHING = re.compile(r"could not read from remote|the remote end hung up|early eof", re.IGNORECASE)
_ADVICE = re.compile(r"warning:|Warning:|hint:|Please make sure you have|and the repository exists|debug\d:")


_UNATTENDED = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
}


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment git runs in: ``base`` (default: this process's) without what could misdirect or prompt."""
    env = _unpointed(base or os.environ)
    ssh = env.get("GIT_SSH_COMMAND") or "ssh"
    return env | {
        **_UNATTENDED,
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_SSH_COMMAND": f"{ssh} -oBatchMode=yes -oConnectTimeout={STALL_SECONDS}",
        "GIT_ALLOW_PROTOCOL": env.get("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    }


def own_environment() -> dict[str, str]:
    """The environment for git in the person's own repository: found from the folder it runs in, and without prompts.

    A hook that runs us points git at its repository and its index. The person's configuration stays in force, and git
    may fetch what a partial clone lacks.
    """
    return _unpointed(os.environ) | {**_UNATTENDED, "GIT_EDITOR": "true"}


def _unpointed(env: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in env.items() if key not in _REPOSITORY_VARIABLES}


def git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    check: bool = True,
    timeout: float = LOOKUP_SECONDS,
    stop: Event | None = None,
) -> Completed:
    """Run git on what is on this machine. Raises ProcessFailed."""
    argv = ["git", *(part for setting in _SETTINGS for part in ("-c", setting)), *arguments]
    return process.run(argv, cwd=cwd, env=env or environment(), stdin=stdin, check=check, timeout=timeout, stop=stop)


def git_remote(
    arguments: Sequence[str],
    *,
    url: str,
    cwd: Path,
    stdin: str | None = None,
    timeout: float = FETCH_SECONDS,
    stop: Event | None = None,
) -> Completed:
    """Run git against ``url`` (named in messages), and again after a while when the network failed.

    Returns what git said also for an exit code other than 0 that is an answer of the server. Raises NetworkError when
    the server cannot be reached, does not know us, or holds no repository there.
    """
    env = environment(_with_ssh_command(url))
    deadline = time.monotonic() + RETRY_SECONDS
    for attempt in range(1, TRIES + 1):
        try:
            done = git(arguments, cwd=cwd, env=env, stdin=stdin, check=False, timeout=timeout, stop=stop)
        except ProcessFailed as error:
            raise NetworkError(f"{url}: git gave {error.reason}") from error
        if done.code == 0 or not _FAULTS_OF_THE_NETWORK.search(done.stderr):
            break
        if attempt == TRIES or time.monotonic() > deadline:
            break
        time.sleep(_BACK_OFF_SECONDS * 3 ** (attempt - 1))
    _raise_unless_answered(done, url, attempt)
    return done


def _with_ssh_command(url: str) -> Mapping[str, str]:
    """This process's environment, with the user's core.sshCommand where ours would hide it."""
    if url.startswith("file:") or "GIT_SSH_COMMAND" in os.environ:
        return os.environ
    # The user's configuration alone: no repository we might stand in has a say.
    asked = [f"--git-dir={os.devnull}", "config", "--get", "core.sshCommand"]
    command = git(asked, cwd=Path("/"), check=False).stdout.strip()
    return {**os.environ, "GIT_SSH_COMMAND": command} if command else os.environ


def _raise_unless_answered(done: Completed, url: str, tries: int) -> None:
    if done.code == 0:
        return
    said = last_words(done.stderr)
    if _AUTHENTICATION.search(done.stderr):
        raise NetworkError(
            f"{url}: the server wants to know who asks, or there is no such repository ({said}); "
            "set up a git credential helper or an ssh key for it"
        )
    if _FAULTS_OF_THE_NETWORK.search(done.stderr):
        raise NetworkError(f"{url}: no answer after {tries} {'try' if tries == 1 else 'tries'} ({said})")
    if re.search(r"does not appear to be a git repository|repository .*not found|not exported", done.stderr, re.I):
        raise NetworkError(f"{url}: there is no git repository, or it may not be read ({said})")
    if re.search(r"transport .* not allowed|unable to find remote helper", done.stderr, re.I):
        raise RefError(f"{url}: {said}")


def last_words(stderr: str) -> str:
    """What git gave as the reason, without credentials: its first error line that tells one.

    Where ssh failed, git itself only says that it could not read; ssh said why.
    """
    lines = [line.strip() for line in stderr.splitlines() if re.search(r"\w", line.strip().removeprefix("remote:"))]
    lines = [line for line in lines if not _ADVICE.match(line)] or lines or ["no message"]
    said = [line for line in lines if re.match(r"(fatal|error|remote):", line)]
    told = next((line for line in said if not _TELLS_NOTHING.search(line)), lines[0])
    return masked(told)
