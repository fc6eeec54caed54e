"""Every error a command can end with, and the exit code each stands for.

A message says what happened, where (``pins.yaml:LINE`` or a ref), and what to do next. ``cli.run_command`` prints it
and returns the code; elsewhere an error is caught only to become a finding, a row or a more telling error.
"""

from typing import ClassVar


class ImagePinsError(Exception):
    """Base of all errors that are told to the user without a traceback."""

    exit_code: ClassVar[int] = 1


class CheckFailed(ImagePinsError):
    """A check failed, rendered files drifted, or a pin needs attention."""


class UsageError(ImagePinsError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class PinsError(ImagePinsError):
    """pins.yaml or a template is wrong; the message lists every finding with its place."""

    exit_code = 2


class RefError(ImagePinsError):
    """A ref, commit, tag or version does not exist, is ambiguous, or is refused."""

    exit_code = 3


class NetworkError(ImagePinsError):
    """A git server or registry did not answer (time-out, 5xx, rate limit, authentication)."""

    exit_code = 4


class BuildFailed(ImagePinsError):
    """A build failed; the message names target, step and log."""

    exit_code = 5


class EngineError(ImagePinsError):
    """No usable Docker engine or builder."""

    exit_code = 6


EXIT_INTERRUPTED = 130
