"""Definition of a build and what must stay private → refused before the build, where the one holds the other.

History, environment and labels of an image are made of its Dockerfile and of the definition that bake is given, and of
nothing else of this machine: RUN steps read secrets from mounts, which BuildKit keeps. So these texts are what to look
at, and before the build nothing has been pushed yet.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from imagepins.errors import BuildFailed
from imagepins.gitrepo.url import parse_mirrors

_WORDS = r"TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?|APIKEY|(?:API|PRIVATE|SECRET|ACCESS)_KEY"
_NAME = re.compile(rf"(?:^|_)(?:{_WORDS})(?:$|_)", re.IGNORECASE)
MIN_CHARACTERS = 12
"""A shorter value, such as a word, stands in too many texts by chance."""


def refuse_leaks(target: str, texts: Mapping[str, str], secrets: Mapping[str, Path]) -> None:
    """Raise BuildFailed, without the value, where a text holds what a secret or the environment keeps private.

    ``texts`` maps how a text is called to the text, ``secrets`` ids to files.
    """
    private = {**_certificates(secrets.get("ca")), **_mirrors(), **_tokens()}
    for called, text in texts.items():
        for value, what in private.items():
            if (at := text.find(value)) >= 0:
                line = text.count("\n", 0, at) + 1
                raise BuildFailed(
                    f"{target}: {called}:{line} holds {what}, which everybody who has the image could read; "
                    "take it out, and read it from a secret mount in the RUN that needs it"
                )


def _tokens() -> dict[str, str]:
    """Values of the environment's variables that are called like secrets."""
    return {
        value: f"the value of {name}"
        for name, value in os.environ.items()
        if _NAME.search(name) and len(value) >= MIN_CHARACTERS and not Path(value).is_absolute()
    }


def _mirrors() -> dict[str, str]:
    """Addresses of the environment's mirrors; those of pins.yaml everybody knows."""
    return dict.fromkeys(parse_mirrors(os.environ.get("IMAGEPINS_MIRRORS", "")).values(), "the address of a mirror")


def _certificates(bundle: Path | None) -> dict[str, str]:
    """The first line of each certificate of the CA bundle."""
    return dict.fromkeys(_first_lines(bundle), "a certificate of the CA bundle") if bundle else {}


def _first_lines(bundle: Path) -> Iterator[str]:
    text = bundle.read_bytes().decode("ascii", errors="replace")
    return (match[1] for match in re.finditer(r"-----BEGIN [A-Z ]+-----\s+(\S{32,})", text))
