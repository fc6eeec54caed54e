"""The scalars of pins.yaml: what each looks like, and the slips people make.

Values reach Dockerfiles, so none may hold a line end, a quote that would end its line's quoting, ``#`` after a blank (a
comment to Docker in some places), or a backslash at the end (a continuation).
"""

import re

from imagepins.pins.schema import Scalar

_PLAIN = r"(?:(?![\r\n\"`])(?! #)[\x20-\x7e])*(?<![\\\s])"


def _sha_hint(text: str) -> str | None:
    if re.fullmatch(r"[0-9a-fA-F]{40}", text):
        return "write it in lower case"
    if re.fullmatch(r"[0-9a-f]{4,39}", text):
        return f"a short sha of {len(text)} digits; 'tools/bump_pin NAME {text}' stores the whole one"
    if re.fullmatch(r"[0-9a-fA-F]{41,}", text):
        return f"{len(text)} digits"
    if text and not re.search(r"\s", text):
        return f"a branch or tag name; 'tools/bump_pin NAME {text}' stores its commit"
    return None


def _digest_hint(text: str) -> str | None:
    hexadecimal = text.removeprefix("sha256:")
    if re.fullmatch(r"[0-9a-f]{64}", hexadecimal):
        return "write sha256: before it"
    if re.fullmatch(r"[0-9a-fA-F]+", hexadecimal):
        return f"{len(hexadecimal)} digits" if len(hexadecimal) != 64 else "write it in lower case"
    return None


def _sha256_hint(text: str) -> str | None:
    if text.startswith("sha256:"):
        return "leave sha256: out"
    if re.fullmatch(r"[0-9a-fA-F]+", text):
        return f"{len(text)} digits" if len(text) != 64 else "write it in lower case"
    return None


def _url_hint(text: str) -> str | None:
    if re.match(r"[a-z+]+://[^/@]*@", text) and not text.startswith("ssh://"):
        return "credentials never stand in pins.yaml; git's own credential helpers supply them"
    if text.startswith("http://"):
        return "plain http can be altered on the way; use https"
    return None


def _version_hint(text: str) -> str | None:
    return "an exact version, no operator or wildcard" if re.search(r"[*<>=~!]", text) else None


# As Docker reads parts of a reference, which names become: one dot, up to two underscores, dashes at will.
_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
NAME = Scalar("a name of lower-case letters, digits, '-', '_' or '.'", _PART)
COMMIT = Scalar("a full commit of 40 lower-case hex digits", r"[0-9a-f]{40}", _sha_hint)
SHORT_COMMIT = Scalar("the first 7 to 39 digits of a commit", r"[0-9a-f]{7,39}")
DIGEST = Scalar("a digest, sha256: and 64 lower-case hex digits", r"sha256:[0-9a-f]{64}", _digest_hint)
SHA256 = Scalar("64 lower-case hex digits", r"[0-9a-f]{64}", _sha256_hint)
# A path of a URL may hold anything but blanks, quotes, '#' and what a shell or Docker would expand.
_URL_REST = r"[A-Za-z0-9._~:/?\[\]@!&()*+,;=%-]*[A-Za-z0-9/_=)-]"
# A host that begins like an option would reach ssh as one.
_HOST = r"[A-Za-z0-9][A-Za-z0-9.-]*"
GIT_URL = Scalar(
    "a git URL (https://, ssh://, git@host:path or file://)",
    rf"(?:https://{_HOST}(?::\d+)?/{_URL_REST}|ssh://(?:[\w.-]+@)?{_HOST}(?::\d+)?/{_URL_REST}"
    rf"|[\w][\w.-]*@{_HOST}:(?!:){_URL_REST}|file:///{_URL_REST})",
    _url_hint,
)
URL = Scalar(
    "an https:// URL",
    rf"(?:https://{_HOST}(?::\d+)?/{_URL_REST}|http://(?:localhost|127\.0\.0\.1)(?::\d+)?/{_URL_REST}"
    rf"|file:///{_URL_REST})",
    _url_hint,
)
URL_PREFIX = Scalar("a URL prefix", r"(?:https|ssh|git|file|http)://[!#-&(-?A-~]*|[\w.-]+@[\w.-]+:[!#-&(-~]*")
REPOSITORY = Scalar(
    "an image repository without tag or digest, e.g. rocm/dev-ubuntu-22.04",
    rf"(?:[a-zA-Z0-9.-]+(?::\d+)?/)?{_PART}(?:/{_PART})*",
    lambda text: "write the tag under 'tag:'" if ":" in text else None,
)
TAG = Scalar("an image tag", r"\w[\w.-]{0,127}")
PLACEHOLDER = r"\{([a-z0-9][a-z0-9._-]*)\}"
IMAGE_REF = Scalar(
    "an image ref with a tag, e.g. rocm/vllm-dev:base or app:v{pin}",
    rf"(?:{REPOSITORY.pattern}):(?:\w|{PLACEHOLDER})(?:[\w.-]|{PLACEHOLDER}){{0,127}}",
)
PLATFORM = Scalar("a platform, e.g. linux/amd64", r"[a-z0-9]+/[a-z0-9_]+(?:/[a-z0-9]+)?")
PACKAGE = Scalar("a Python package name", r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
APT_PACKAGE = Scalar("a Debian package name", r"[a-z0-9][a-z0-9+.-]+")
VERSION = Scalar("an exact version", r"[A-Za-z0-9][A-Za-z0-9.+_:~-]*", _version_hint)
SUITE = Scalar("a Debian or Ubuntu suite, e.g. trixie", r"[a-z][a-z0-9./-]*")
GIT_REF = Scalar(
    "a branch or tag name",
    r"(?!-)(?!/)(?!.*(?:\.\.|//|@\{|\.lock$))[^\x00-\x20~^:?*\[\\\x7f\"'`$]+(?<![/.])",
)
PULL = Scalar("the number of a pull request", r"[1-9]\d*")
PATH = Scalar(
    "a relative path inside the repository, without '..'",
    r"(?!/)(?!(?:.*/)?\.\.(?:/|$))[A-Za-z0-9._+@-]+(?:/[A-Za-z0-9._+@-]+)*",
)
ABSOLUTE_PATH = Scalar("an absolute path or a program name", r"[A-Za-z0-9._/+-]+")
DATE = Scalar("a date YYYY-MM-DD", r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
ARG_NAME = Scalar("an ARG name of capitals, digits and '_'", r"[A-Z][A-Z0-9_]*")
ENV_NAME = Scalar("an environment variable's name", r"[A-Za-z_][A-Za-z0-9_]*")
ENV_VALUE = Scalar("one line of plain text", _PLAIN.replace('\\"', "") + "|")  # quotes are escaped when rendered
WORD = Scalar("one line of plain text", _PLAIN)
NOTE = Scalar("one line of text", r"\S[^\r\n]*")
ARCH = Scalar("a GPU architecture, e.g. gfx942", r"gfx[0-9a-f]{3,4}(?::(?:xnack|sramecc)[+-])*")
CONDITION = Scalar(
    "a condition such as 'rccl < 2.32', 'triton @ 89002410' or 'torch carries rocm-sdk'",
    r"\S+ (?:[<>]=?|[=!]=|@|carries) \S+(?: and \S+ (?:[<>]=?|[=!]=|@|carries) \S+)*",
)
NUMBER = Scalar("a whole number", r"\d{1,6}")
