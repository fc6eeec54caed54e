"""A bare machine → a usable Docker engine and the base image; and what other parts ask of an engine.

``require_engine`` raises where no engine is usable, ``ensure_base`` provides the base image, ``base_origin`` tells from
an image's labels how its base was made.
"""

from imagepins.engine.origin import BASE_LABEL, BASE_REF, base_origin
from imagepins.engine.usable import Problem, find_problem, require_engine

__all__ = ["BASE_LABEL", "BASE_REF", "Problem", "base_origin", "find_problem", "require_engine"]
