"""Pins that are no git pins → their moves. HTTP is imported only for the kind at hand, since most bumps do without."""

from imagepins.bump.move import Move, Options
from imagepins.errors import UsageError
from imagepins.pins.model import AptPin, ImagePin, Pin, PypiPin, UrlPin


def propose_other(pin: Pin, ref: str | None, options: Options) -> Move:
    """The move of one such pin. Raises RefError, NetworkError."""
    if isinstance(pin, ImagePin):
        from imagepins.bump.imagepin import propose_image
        from imagepins.registry.client import Client

        with Client(options.mirrors) as client:
            return propose_image(pin, ref, options, client)
    if isinstance(pin, UrlPin):
        from imagepins.bump.urlpin import propose_url

        return propose_url(pin, ref, options)
    if isinstance(pin, PypiPin):
        from imagepins.bump.pypipin import propose_pypi

        return propose_pypi(pin, ref, options)
    if isinstance(pin, AptPin):
        from imagepins.bump.aptpin import propose_apt

        return propose_apt(pin, ref, options)
    raise UsageError(f"pin '{pin.name}' is of a kind ({pin.kind}) that cannot be moved")
