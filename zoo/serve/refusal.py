"""`Refusal`: why a request gets no answer, with its HTTP status."""


class Refusal(Exception):  # noqa: N818  an answer, not a fault
    """Refuse a request.

    Args:
        status: of HTTP: 400 for what cannot be read, 413 for what is too large, 422 for what the model cannot take,
            503 where the server cannot take it now, 504 where it took too long.
        text: what is told, in one sentence.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text
