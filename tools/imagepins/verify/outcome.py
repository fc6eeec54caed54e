"""Why an image gave nothing to judge: a result of its own, never a version mismatch."""

from imagepins.errors import ImagePinsError


class NoAnswer(ImagePinsError):
    """The collector gave no document; ``outcome`` says in one word why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
