"""The Jinja environment of all templates: strict names, own delimiters, checked values.

Delimiters are ``[[[ value ]]]``, ``[[% block %]]`` and ``[[# comment #]]``. Jinja's own collide with what Dockerfiles
hold: ``${#array[@]}`` opens a Jinja comment and ``{{.Id}}`` is a Go template (jitsi/infra-configuration#902).
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.exceptions import UndefinedError

from imagepins.errors import PinsError
from imagepins.pins import archs
from imagepins.pins.schema import nearest


class _Undefined(StrictUndefined):
    """A missing name whose message tells the nearest known one."""

    @property
    def _undefined_message(self) -> str:
        owner = self._undefined_obj
        known = owner if isinstance(owner, Mapping) else [name for name in dir(owner) if not name.startswith("_")]
        if self._undefined_hint or not isinstance(self._undefined_name, str):
            return super()._undefined_message
        return f"nothing is called '{self._undefined_name}'{nearest(self._undefined_name, known)}"


def environment(root: Path) -> Environment:
    """The environment over the templates below ``root``."""
    env = Environment(
        loader=FileSystemLoader(root),
        block_start_string="[[%",
        block_end_string="%]]",
        variable_start_string="[[[",
        variable_end_string="]]]",
        comment_start_string="[[#",
        comment_end_string="#]]",
        undefined=_Undefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - Dockerfiles, not HTML; values are checked by type when pins.yaml is read
        finalize=_refuse_nothing,
    )
    env.filters["shquote"] = lambda value: shlex.quote(str(value))
    env.filters["dquote"] = dquote
    env.globals["arch_list"] = archs.joined
    env.globals["arch_variable"] = lambda consumer: archs.CONSUMERS[consumer].variable
    env.globals["fail"] = _fail
    return env


def dquote(value: str) -> str:
    """``value`` in double quotes for ENV and ARG; ``$`` is left to Docker."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def render(env: Environment, template: str, context: Mapping[str, Any]) -> str:
    """Render ``template``. Raises PinsError naming template and line for whatever is wrong with it."""
    try:
        return env.get_template(template).render(context)
    except TemplateNotFound as error:
        raise PinsError(f"{template}: no template '{error.name}' below the directory of pins.yaml") from None
    except TemplateSyntaxError as error:
        raise PinsError(f"{error.name or template}:{error.lineno}: {error.message}") from None
    except (UndefinedError, TemplateError, TypeError, LookupError, ValueError) as error:
        raise PinsError(f"{_place(error, template)}: {_message(error)}") from None


def _message(error: Exception) -> str:
    return f"no row for {error}" if isinstance(error, KeyError) else str(error)


def _place(error: Exception, template: str) -> str:
    """``template:line`` of the innermost template frame of the traceback (Jinja rewrites those to template lines)."""
    place, traceback = template, error.__traceback__
    while traceback:
        if traceback.tb_frame.f_code.co_filename.endswith(".j2"):
            name = traceback.tb_frame.f_globals.get("__jinja_template__")
            path = getattr(name, "name", None) or traceback.tb_frame.f_code.co_filename
            place = f"{path}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _refuse_nothing(value: Any) -> Any:
    if value is None:
        raise TypeError("a value that pins.yaml does not give would render as nothing; test for it first")
    return value


def _fail(message: str) -> None:
    raise ValueError(message)
