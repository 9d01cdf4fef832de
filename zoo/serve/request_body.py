"""Bodies of requests: JSON, forms with files, plain lines, or a file itself; and the options beside the inputs."""

import json
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from zoo.names import did_you_mean
from zoo.serve.raw_inputs import Upload
from zoo.serve.refusal import Refusal

Stop = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class FeatureOptions(BaseModel):
    """Options of a request for feature vectors: none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelOptions(BaseModel):
    """Options of a request for labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    top: int | None = Field(None, ge=1, description="Labels at most, the most probable ones; all without.")


class WritingOptions(BaseModel):
    """Options of a request for what a model writes; those of `zoo generate`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_len: int | None = Field(None, ge=1, description="New tokens at most.")
    beam: int = Field(1, ge=1, le=64, description="Beam size; 1 is greedy search.")
    n_best: int = Field(1, ge=1, le=64, description="Answers for each input.")
    length_penalty: float | None = Field(None, allow_inf_nan=False)
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False, description="Sample at this temperature.")
    top_k: int | None = Field(None, ge=1)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = Field(None, ge=0, lt=2**63)
    min_len: int = Field(0, ge=0, description="New tokens before the end at least.")
    repetition_penalty: float = Field(1.0, gt=0, allow_inf_nan=False, description="1 for none.")
    no_repeat_ngram_size: int = Field(0, ge=0, description="No n-gram of this size is written twice; 0 allows all.")
    stop: Annotated[tuple[Stop, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)] = (
        Field((), min_length=1, max_length=16, description="A string that ends an answer, which is kept; or several.")
    )


async def read_body(request: Request) -> tuple[list[Any], dict[str, Any]]:
    """Give the inputs of a request, and its options by name.

    Raises:
        Refusal: If the body is no JSON, form or text, or has no inputs.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    options: dict[str, Any] = dict(request.query_params)
    if kind == "multipart/form-data":
        inputs, more = await _form(request)
        options |= more
    elif kind == "application/json":
        inputs, more = _of_json(await request.body())
        options |= more
    elif kind == "text/plain":
        inputs = list(_text(await request.body()).splitlines())
    elif kind in ("", "application/x-www-form-urlencoded"):
        raise Refusal(415, f"Content-Type {kind or 'is missing'}: send application/json, multipart/form-data or a file")
    else:
        body = await request.body()
        inputs = [Upload(body, "the body")] if body else []
    if not inputs:
        raise Refusal(422, "there are no inputs")
    return inputs, options


def checked(kind: type[BaseModel], options: dict[str, Any]) -> dict[str, Any]:
    """Check options by name, and give those that were set, as values.

    Raises:
        Refusal: If one is unknown, or its value is none.
    """
    try:
        return kind.model_validate(options).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise Refusal(422, _unknown(name, list(kind.model_fields))) from error
        raise Refusal(422, f"{name}={first['input']!r}: {first['msg']}") from error


def _unknown(name: str, known: list[str]) -> str:
    text = f"there is no option {name!r}.{did_you_mean(name, known)}"
    return f"{text} Options are: {', '.join(known)}" if known else f"{text} The request takes none"


async def _form(request: Request) -> tuple[list[Any], dict[str, Any]]:
    """Give the files of a form, and its fields `input` as texts; the other fields are options."""
    inputs: list[Any] = []
    options: dict[str, Any] = {}
    try:
        async with request.form() as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    inputs.append(Upload(await value.read(), value.filename or name))
                elif name == "input":
                    inputs.append(value)
                else:
                    options[name] = value
    except MultiPartException as error:
        raise Refusal(400, f"the form cannot be read: {error.message}") from error
    return inputs, options


def _of_json(body: bytes) -> tuple[list[Any], dict[str, Any]]:
    try:
        found = json.loads(_text(body))
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"the body is no JSON: {error}") from error
    if not isinstance(found, dict) or ("inputs" in found) == ("input" in found):
        raise Refusal(422, 'send {"inputs": […]}, or {"input": …} with one')
    inputs = [found.pop("input")] if "input" in found else found.pop("inputs")
    if not isinstance(inputs, list):
        raise Refusal(422, '"inputs" is a list; "input" is one')
    return inputs, found


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is no UTF-8 at byte {error.start + 1}") from error
