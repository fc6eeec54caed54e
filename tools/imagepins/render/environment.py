"""The Jinja environment of all templates: strict names, own delimiters, checked values.

Delimiters are ``[[[ value ]]]``, ``[[% block %]]`` and ``[[# comment #]]``. Jinja's own collide with what Dockerfiles
hold: ``${#array[@]}`` opens a Jinja comment and ``{{.Id}}`` is a Go template (jitsi/infra-configuration#902).
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.exceptions import UndefinedError
from jinja2.utils import missing

from imagepins.errors import PinsError
from imagepins.pins import archs
from imagepins.pins.schema import nearest


class _Undefined(StrictUndefined):
    """A missing name whose message tells the nearest known one."""

    @property
    def _undefined_message(self) -> str:
        owner = self._undefined_obj
        if owner is missing:
            return f"nothing is called '{self._undefined_name}'"
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
    except UnicodeDecodeError as error:
        raise PinsError(f"{template}: or a part of it is not UTF-8: {error}") from None
    except OSError as error:
        raise PinsError(f"{error.filename or template}: cannot be read: {error.strerror}") from None
    except (UndefinedError, TemplateError, TypeError, LookupError, ValueError) as error:
        raise PinsError(f"{_place(error, template, env)}: {_message(error, context)}") from None


def _message(error: Exception, context: Mapping[str, Any]) -> str:
    if isinstance(error, KeyError):
        return f"no row for {error}"
    top_level = re.fullmatch(r"nothing is called '(\w+)'", str(error))
    return f"{error}{nearest(top_level[1], context)}" if top_level else str(error)


def _place(error: Exception, template: str, env: Environment) -> str:
    """``template:line`` of the innermost template frame of the traceback (Jinja rewrites those to template lines)."""
    loader = env.loader
    roots = [Path(root) for root in loader.searchpath] if isinstance(loader, FileSystemLoader) else []
    place, traceback = template, error.__traceback__
    while traceback:
        path = Path(traceback.tb_frame.f_code.co_filename)
        for root in (root for root in roots if path.suffix == ".j2" and path.is_relative_to(root)):
            place = f"{path.relative_to(root).as_posix()}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _refuse_nothing(value: Any) -> Any:
    if value is None:
        raise TypeError("a value that pins.yaml does not give would render as nothing; test for it first")
    return value


def _fail(message: str) -> None:
    raise ValueError(message)
