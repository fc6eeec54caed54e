"""A registry's challenge + docker's own credentials → the Authorization header it asks for."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import requests

from imagepins.registry.documents import parsed
from imagepins.registry.reference import DOCKER_HUB, Reference
from imagepins.web import Busy, Limits, as_it_is, is_busy, send

LIMITS = Limits(seconds=60.0, size=8 << 20)
"""More than any manifest, config or token takes."""

_CHALLENGE_PART = re.compile(
    r'(?P<name>[\w-]+)\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s,"]*))|(?P<scheme>[A-Za-z][\w-]*)'
)


class NotAuthorised(Exception):
    """The registry or its token service does not accept us; the text says why."""


def authorisation(session: requests.Session, challenge: str, reference: Reference) -> str:
    """Value of the Authorization header for ``reference``, anonymous where docker's config has no credentials.

    Raises NotAuthorised, Busy, and what ``web.send`` raises.
    """
    credentials = _credentials(reference.registry)
    offered = _challenges(challenge)
    if "bearer" in offered:
        return f"Bearer {_token(session, offered['bearer'], credentials, reference)}"
    if "basic" in offered:
        if not credentials:
            raise NotAuthorised(f"{reference.registry} wants a login; run 'docker login {reference.registry}'")
        login = f"{credentials['username']}:{credentials['password']}"
        return f"Basic {base64.b64encode(login.encode()).decode()}"
    raise NotAuthorised(f"{reference.registry} asks for an unknown kind of login ({', '.join(offered) or 'none'})")


def _challenges(header: str) -> dict[str, dict[str, str]]:
    """Scheme → its parameters, both in lower case; a header may offer several (RFC 9110, 11.6.1)."""
    found: dict[str, dict[str, str]] = {}
    for match in _CHALLENGE_PART.finditer(header):
        if scheme := match["scheme"]:
            found[scheme.lower()] = {}
        elif found:
            fields = found[next(reversed(found))]
            fields[match["name"].lower()] = match["value"] if match["quoted"] is None else match["quoted"]
    return found


def _token(
    session: requests.Session, fields: Mapping[str, str], credentials: Mapping[str, str] | None, reference: Reference
) -> str:
    realm = fields.get("realm", "")
    if not realm.startswith("https://") and not reference.is_loopback:
        raise NotAuthorised(f"{reference.registry} names a token service without https: {realm}")
    scope = fields.get("scope") or f"repository:{reference.repository}:pull"
    asked = {**({"service": fields["service"]} if fields.get("service") else {}), "scope": scope}
    if credentials and credentials.get("identity_token"):
        asked |= {
            "grant_type": "refresh_token",
            "refresh_token": credentials["identity_token"],
            "client_id": "imagepins",
        }
        reply = send(session, "POST", realm, LIMITS, data=asked, auth=as_it_is)
    else:
        login = (credentials["username"], credentials["password"]) if credentials else None
        reply = send(session, "GET", realm, LIMITS, params=asked, auth=login or as_it_is)
    if is_busy(reply.status):
        raise Busy(reply)
    if reply.status in (401, 403):
        raise NotAuthorised(f"{reference.registry} does not accept the login ({reply.status})")
    document = parsed(reply.body) or {}
    token = document.get("token") or document.get("access_token")
    if not isinstance(token, str):
        raise NotAuthorised(f"the token service of {reference.registry} gave no token ({reply.status_text})")
    return token


def _credentials(registry: str) -> Mapping[str, str] | None:
    """What docker's config file and credential helpers hold for ``registry``."""
    from docker import auth, errors

    key = auth.INDEX_NAME if registry == DOCKER_HUB else registry
    try:
        found: Any = auth.load_config().resolve_authconfig(key)
    except (errors.DockerException, ValueError) as error:
        raise NotAuthorised(f"docker's credentials for {registry} cannot be read: {error}") from error
    if not found:
        return None
    return {
        "username": found.get("username") or found.get("Username") or "",
        "password": found.get("password") or found.get("Password") or "",
        "identity_token": found.get("IdentityToken") or found.get("identitytoken") or "",
    }
