"""What pins.yaml holds, key by key. The checker, ``tools/image schema`` and the messages are all made from this."""

from imagepins.pins import scalars as s
from imagepins.pins.schema import Field, Kinds, ListOf, MapOf, Record, Scalar

TRACK = Record(
    "a track",
    {
        "branch": Field(s.GIT_REF, "Follow the tip of this branch."),
        "tag": Field(s.GIT_REF, "Stay at this tag."),
        "pull": Field(s.PULL, "Provisional: follow the head of this pull request."),
        "then": Field(s.GIT_REF, "Branch to move to once the pull request is merged."),
    },
    one_of=("branch", "tag", "pull"),
)
PATCH = Record(
    "a picked or reverted commit",
    {
        "commit": Field(s.COMMIT, "The commit, whole."),
        "short": Field(s.SHORT_COMMIT, "What upstream writes, while nobody here knows the whole commit."),
        "reason": Field(s.NOTE, "Why.", required=True),
    },
    one_of=("commit", "short"),
)
EXCEPTION = Field(s.NOTE, "Why the commit may stand though no tracked ref leads to it (--allow-unreachable writes it).")

COMMON = {
    "arg": Field(s.ARG_NAME, "Name of the ARG in rendered Dockerfiles; upstream's own where it has one."),
    "component": Field(s.NAME, "What the pin makes the image hold, e.g. hip or rccl; picks the probe that proves it."),
    "note": Field(s.NOTE, "Why this pin stands where it stands."),
    "hold": Field(s.NOTE, "A bump is refused, with this reason."),
    "review_by": Field(s.DATE, "Date after which CI warns, then fails."),
}
CONTENT = {"component_version": Field(s.VERSION, "Version of the component inside, where the pin's own says another.")}

GIT = Record(
    "a git pin",
    {
        "git": Field(s.GIT_URL, "URL of the repository.", required=True),
        "path": Field(ListOf(s.PATH, single=True), "Directories of a mono-repo that matter for this pin."),
        "commit": Field(s.COMMIT, "The pinned commit. Left out while nobody knows it; 'track' then says where from."),
        "track": Field(TRACK, "Where the commit comes from, and what a bump without a ref follows."),
        "version": Field(s.VERSION, "Version read from the source at that commit; written by bump_pin."),
        "version_from": Field(s.PATH, "File of the source tree that holds the version, or 'tag' for the nearest tag."),
        "picks": Field(ListOf(PATCH), "Commits applied on top of the pinned one, in order."),
        "reverts": Field(ListOf(PATCH), "Commits taken back on top of the pinned one, in order."),
        "allow_unreachable": EXCEPTION,
        "min_age_days": Field(s.NUMBER, "Days a commit must be old, by its date and by when it was first seen."),
        **COMMON,
    },
)
IMAGE = Record(
    "an image pin",
    {
        "image": Field(s.REPOSITORY, "Repository of the image.", required=True),
        "tag": Field(s.TAG, "Tag the digest was taken from.", required=True),
        "digest": Field(s.DIGEST, "Digest of the index, or of one platform's manifest where 'platform' is given."),
        "platform": Field(s.PLATFORM, "Pin this platform's manifest instead of the index."),
        "allow_tag": Field(s.NOTE, "Why this base may be used by its tag alone."),
        **CONTENT,
        **COMMON,
    },
)
URL = Record(
    "a url pin",
    {
        "url": Field(s.URL, "Address of the file.", required=True),
        "sha256": Field(s.SHA256, "Checksum of the file. Left out while nobody knows it."),
        **CONTENT,
        **COMMON,
    },
)
PYPI = Record(
    "a pypi pin",
    {
        "pypi": Field(s.PACKAGE, "Name of the Python package.", required=True),
        "version": Field(s.VERSION, "Exact version, local part included.", required=True),
        "index": Field(s.URL, "Package index other than the default."),
        **COMMON,
    },
)
APT = Record(
    "an apt pin",
    {
        "apt": Field(s.APT_PACKAGE, "Name of the Debian package.", required=True),
        "version": Field(s.VERSION, "Upstream version; installed as NAME=VERSION-*.", required=True),
        "suite": Field(s.SUITE, "Suite the package comes from.", required=True),
        **CONTENT,
        **COMMON,
    },
)
PIN = Kinds("a pin", {"git": GIT, "image": IMAGE, "url": URL, "pypi": PYPI, "apt": APT})

ENV = Record(
    "an environment value",
    {
        "value": Field(s.ENV_VALUE, "The value.", required=True),
        "when": Field(s.CONDITION, "Set only while this holds for the image's pins."),
        "reason": Field(s.NOTE, "Why; rendered as a comment."),
    },
    short="value",
)
BENCH = Record(
    "a benchmark recipe",
    {
        "server": Field(ListOf(s.WORD), "Command that serves, run in the image.", required=True),
        "ready": Field(ListOf(s.WORD), "Command that exits 0 once the server answers.", required=True),
        "client": Field(ListOf(s.WORD), "Command that loads the server and writes the result file.", required=True),
        "result": Field(s.ABSOLUTE_PATH, "Result file inside the container.", required=True),
        "env_sets": Field(ListOf(MapOf(s.ENV_NAME, s.ENV_VALUE)), "Environments to measure in turn."),
        "devices": Field(ListOf(s.ABSOLUTE_PATH), "Devices passed through."),
        "warmup": Field(s.NUMBER, "Runs dropped before measuring; default 1."),
        "runs": Field(s.NUMBER, "Runs measured; default 3."),
        "ready_seconds": Field(s.NUMBER, "Time the server may take to be ready, in seconds; default 600."),
        "client_seconds": Field(s.NUMBER, "Time one client run may take, in seconds; default 3600."),
    },
)
# What an image says and a variant may say otherwise.
SHARED = {
    "parent": Field(s.PATH, "Image (or image/variant) this one is built FROM."),
    "archs": Field(ListOf(s.ARCH), "GPU architectures the image is built for."),
    "args": Field(MapOf(s.ARG_NAME, s.ENV_VALUE), "Plain ARG values that are not pins."),
    "env": Field(MapOf(s.ENV_NAME, ENV), "ENV of the image."),
    "tags": Field(
        ListOf(s.IMAGE_REF),
        "Tags of the built image; default NAME:VARIANT. {PIN} stands for that pin's version or tag.",
    ),
    "platform": Field(s.PLATFORM, "Platform to build for; default linux/amd64."),
}
VARIANT = Record(
    "a variant",
    {
        "pins": Field(MapOf(s.NAME, s.NAME), "Pins that differ in this variant: role: pin."),
        **SHARED,
    },
)
TARGET_IMAGE = Record(
    "an image",
    {
        "template": Field(s.PATH, "Template the Dockerfiles are rendered from.", required=True),
        "pins": Field(ListOf(s.NAME), "Pins the image is made of.", required=True),
        "variants": Field(MapOf(s.NAME, VARIANT), "Variants; each renders to images/IMAGE/VARIANT/.", required=True),
        "gates": Field(ListOf(s.NAME), "Gates that are evaluated in the image."),
        "require_gates": Field(ListOf(s.NAME), "Gates that must be on in the image."),
        "python": Field(s.ABSOLUTE_PATH, "The image's Python interpreter; default python3."),
        "loads": Field(ListOf(s.WORD), "What the served program loads: 'import NAME' or a library's file name."),
        "allow_copies": Field(MapOf(s.WORD, s.NOTE), "Libraries that may be there in different copies: name: reason."),
        "weight": Field(s.NAME, "Build weight: heavy targets are built one at a time; default light."),
        "bench": Field(BENCH, "Benchmark recipe of the image."),
        **SHARED,
    },
)
GATE = Record(
    "a gate",
    {
        "when": Field(s.CONDITION, "Condition over versions found in the image.", required=True),
        "value": Field(s.WORD, "What the feature is set to while the gate is on."),
        "otherwise": Field(s.WORD, "What it is set to while the gate is off; default 0."),
        "note": Field(s.NOTE, "What the feature does and why the condition."),
    },
    short="when",
)
CONSTRAINT = Record(
    "a constraint",
    {
        "require": Field(s.CONDITION, "Condition that must hold wherever its pins meet in an image.", required=True),
        "when": Field(s.CONDITION, "Only while this holds."),
        "reason": Field(s.NOTE, "Why.", required=True),
    },
)
FILE = Record(
    "pins.yaml",
    {
        "schema": Field(
            Scalar("schema 1, the only one this tool knows", "1"), "Version of this format.", required=True
        ),
        "mirrors": Field(MapOf(s.URL_PREFIX, s.URL_PREFIX), "URL prefixes to replace in closed networks."),
        "pins": Field(MapOf(s.NAME, PIN), "The pinned sources.", required=True),
        "groups": Field(MapOf(s.NAME, ListOf(s.NAME)), "Pins that move together."),
        "images": Field(MapOf(s.NAME, TARGET_IMAGE), "The images.", required=True),
        "gates": Field(MapOf(s.NAME, GATE), "Features that exist from some version on."),
        "constraints": Field(ListOf(CONSTRAINT), "What must hold between pins."),
    },
)
