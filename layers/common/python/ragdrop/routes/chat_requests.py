"""What `/v1` takes: the OpenAI protocol's chat request; fields that ragdrop does not use are ignored."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ragdrop.domain.conversations import Turn
from ragdrop.domain.scopes import visible_vaults
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import InvalidParamsError, NotFoundError

DEFAULT_MODEL = "default"
VAULT_PREFIX = "vault:"
SPEAKERS = frozenset({"user", "assistant"})  # a client's system prompt is not ours: ragdrop has its own


class StreamOptions(BaseModel):
    """What a stream tells beside the answer."""

    include_usage: bool = Field(default=False, strict=True, description="A last chunk with the tokens.")


class ChatMessage(BaseModel):
    """One message; of a content in parts the texts count."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, StringConstraints(max_length=40)]
    content: str | list[dict[str, Any]] | None = Field(
        default=None, description="What is said; of a content in parts the texts count."
    )

    @property
    def text(self) -> str:
        """What is said.

        >>> ChatMessage(role="user", content=[{"type": "text", "text": "pump?"}, {"type": "image_url"}]).text
        'pump?'
        """
        if isinstance(self.content, list):
            parts = [part.get("text") for part in self.content if part.get("type") in {"text", "input_text"}]
            return "\n".join(part for part in parts if isinstance(part, str)).strip()
        return (self.content or "").strip()


class ChatRequest(BaseModel):
    """A chat completion; `model` is `default` or `vault:NAME`."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, StringConstraints(max_length=200)] = Field(
        default=DEFAULT_MODEL, description="`default`, or `vault:NAME` for one vault.", examples=[DEFAULT_MODEL]
    )
    messages: list[ChatMessage] = Field(min_length=1, max_length=1_000)
    stream: bool | None = Field(default=False, strict=True, description="Answer by server-sent events.")
    stream_options: StreamOptions | None = None

    @property
    def turns(self) -> list[Turn]:
        """The conversation up to the user's last message.

        Raises:
            InvalidParamsError: The user says nothing in it.
        """
        turns = [Turn(each.role, each.text) for each in self.messages if each.role in SPEAKERS and each.text]
        last = next((place for place in reversed(range(len(turns))) if turns[place].role == "user"), None)
        if last is None:
            raise InvalidParamsError(
                "messages: there is no message with text of the role user", field="messages", value=None, allowed=None
            )
        return turns[: last + 1]


def model_names(tenant: Tenant | None, caller: Caller) -> list[str]:
    """The models that there are for *caller*: the whole tenant, and each vault that it may see."""
    vaults = visible_vaults(tenant.vaults, caller.vaults) if tenant else ()
    return [DEFAULT_MODEL, *(VAULT_PREFIX + vault for vault in vaults)]


def vaults_of(model: str, tenant: Tenant | None, caller: Caller) -> tuple[str, ...]:
    """The vaults that *model* asks; empty means all that the caller may see.

    Raises:
        NotFoundError: There is no such model.
    """
    if model not in model_names(tenant, caller):
        message = f"there is no model named {model[:100]!r}: GET /v1/models lists those there are"
        raise NotFoundError(message, field="model", value=model[:100])
    return () if model == DEFAULT_MODEL else (model.removeprefix(VAULT_PREFIX),)
