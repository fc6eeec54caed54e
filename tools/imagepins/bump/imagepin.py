"""An image pin and a tag or digest → the Move to that digest, of the same kind (index or one platform) as before."""

import re
from dataclasses import dataclass

from imagepins.bump.move import Change, Move, Options, Side, known_id
from imagepins.errors import NetworkError, RefError
from imagepins.pins.model import ImagePin
from imagepins.registry.answers import Absent, Present, Unknown
from imagepins.registry.client import Client
from imagepins.registry.images import look_up, platforms, read_config
from imagepins.registry.reference import parse_reference

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True)
class _Found:
    digest: str
    platform: str | None = None
    notes: tuple[str, ...] = ()


def propose_image(pin: ImagePin, ref: str | None, options: Options, client: Client) -> Move:
    """The move of one image pin. Raises RefError for a tag or digest that is not there, NetworkError for no answer."""
    tag, digest = _parse(pin, ref)
    old = Side(known_id(pin), tag=pin.tag)
    if digest and digest == pin.digest and tag == pin.tag:
        return Move(pin=pin.name, kind=pin.kind, old=old, new=old)
    if pin.allow_tag and not digest:
        return _tag_only(pin, tag, old, options, client)
    if options.offline:
        return _offline(pin, tag, digest, old)
    found = _find(pin, tag, digest, client)
    changes = [Change("tag", tag)] if tag != pin.tag else []
    if found.digest != pin.digest:
        changes.append(Change("digest", found.digest, after="tag"))
    if found.platform and found.platform != pin.platform:
        changes.append(Change("platform", found.platform, after="digest"))
    new = Side(found.digest, tag=tag)
    return Move(pin=pin.name, kind=pin.kind, old=old, new=new, changes=tuple(changes), notes=found.notes)


def _parse(pin: ImagePin, ref: str | None) -> tuple[str, str | None]:
    """``TAG``, ``sha256:...``, ``:TAG`` or a whole image ref → tag and, where given, digest."""
    if ref is None:
        return str(pin.tag), None
    typed = ref.strip()
    if digest := _DIGEST.fullmatch(typed.lower()):
        return str(pin.tag), f"sha256:{digest[1]}"
    if re.fullmatch(r":?\w[\w.-]{0,127}", typed):
        return typed.removeprefix(":"), None
    given = parse_reference(typed)
    own = parse_reference(pin.image)
    if (given.registry, given.repository) != (own.registry, own.repository):
        raise RefError(f"{typed}: is of another repository; pin '{pin.name}' comes from {pin.image}")
    return given.tag if given.tag and ":" in typed.rpartition("/")[2] else str(pin.tag), given.digest


def _find(pin: ImagePin, tag: str, digest: str | None, client: Client) -> _Found:
    if digest:
        return _given_digest(pin, tag, digest, client)
    ref = f"{pin.image}:{tag}"
    index = _present(look_up(client, ref), pin)
    if pin.platform:
        chosen = _present(look_up(client, ref, platform=pin.platform), pin)
        return _Found(chosen.digest, notes=(f"the manifest of {pin.platform} in index {index.digest}",))
    if not pin.digest or pin.digest == index.digest or not index.is_index:
        return _Found(index.digest)
    return _same_kind(pin, ref, index, client)


def _same_kind(pin: ImagePin, ref: str, index: Present, client: Client) -> _Found:
    """A pin that holds one platform's manifest without saying so goes on holding that platform's."""
    images = platforms(client, ref)
    if isinstance(images, (Absent, Unknown)):
        raise NetworkError(images.reason)
    by_digest = {digest: name for name, digest in images.items()}
    if pin.digest in by_digest:
        return _Found(pin.digest, notes=(f"the manifest of {by_digest[pin.digest]} in index {index.digest}",))
    old = look_up(client, f"{pin.image}@{pin.digest}")
    if not isinstance(old, Present) or old.is_index:
        return _Found(index.digest)
    config = read_config(client, f"{pin.image}@{pin.digest}")
    platform = config.reason.rpartition(" only, not for")[0] if isinstance(config, Absent) else None
    name = platform.rpartition(" ")[2] if platform else getattr(config, "platform", "")
    if name not in images:
        raise RefError(f"{ref} has no image for {name or 'the platform of the old digest'}")
    return _Found(images[name], platform=name, notes=(f"the manifest of {name} in index {index.digest}",))


def _given_digest(pin: ImagePin, tag: str, digest: str, client: Client) -> _Found:
    _present(look_up(client, f"{pin.image}@{digest}"), pin)
    tagged = look_up(client, f"{pin.image}:{tag}", platform=pin.platform)
    if isinstance(tagged, Present) and tagged.digest == digest:
        return _Found(digest)
    now = tagged.digest if isinstance(tagged, Present) else "unknown"
    return _Found(digest, notes=(f"tag {tag} does not lead to this digest (now: {now})",))


def _tag_only(pin: ImagePin, tag: str, old: Side, options: Options, client: Client) -> Move:
    unchecked: tuple[str, ...] = ()
    if tag != pin.tag:
        answer = Unknown("offline") if options.offline else look_up(client, f"{pin.image}:{tag}")
        if isinstance(answer, Absent):
            raise RefError(answer.reason)
        if isinstance(answer, Unknown):
            unchecked = (f"that tag {tag} exists ({answer.reason})",)
    changes = (Change("tag", tag),) if tag != pin.tag else ()
    note = f"pinned by its tag alone: {pin.allow_tag}"
    side = Side(tag, tag=tag)
    return Move(pin=pin.name, kind=pin.kind, old=old, new=side, changes=changes, notes=(note,), unchecked=unchecked)


def _offline(pin: ImagePin, tag: str, digest: str | None, old: Side) -> Move:
    if digest is None:
        raise NetworkError("the digest of a tag cannot be looked up offline; give the digest")
    changes = [Change("tag", tag)] if tag != pin.tag else []
    changes.append(Change("digest", digest, after="tag"))
    unchecked = ("that the digest exists (offline)",)
    new = Side(digest, tag=tag)
    return Move(pin=pin.name, kind=pin.kind, old=old, new=new, changes=tuple(changes), unchecked=unchecked)


def _present(answer: Present | Absent | Unknown, pin: ImagePin) -> Present:
    if isinstance(answer, Absent):
        raise RefError(answer.reason)
    if isinstance(answer, Unknown):
        raise NetworkError(answer.reason)
    return answer
