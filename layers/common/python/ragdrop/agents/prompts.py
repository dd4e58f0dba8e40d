"""The prompt for cited answers, by which a client's own model answers from what it looks up here."""

from __future__ import annotations

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from ragdrop.errors import InvalidParamsError

NAME = "cited_answer"
PROMPT = Prompt(
    name=NAME,
    title="Answer from the documents, with citations",
    description="Look the question up in the documents and answer it with a source for each statement.",
    arguments=[
        PromptArgument(name="question", description="What is to be answered.", required=True),
        PromptArgument(name="vaults", description="Only these vaults, with commas between them.", required=False),
    ],
)


def prompt(name: str, arguments: dict[str, str]) -> GetPromptResult:
    """The prompt with its question.

    Raises:
        InvalidParamsError: There is no such prompt, or it was given no question.
    """
    if name != NAME:
        raise InvalidParamsError(f"name: there is no prompt {name[:80]!r}", field="name", allowed=[NAME])
    question = arguments.get("question", "").strip()
    if not question:
        raise InvalidParamsError("question: is missing", field="question", value=None, allowed=None)
    vaults = [vault.strip() for vault in arguments.get("vaults", "").split(",") if vault.strip()]
    where = f" with vaults {vaults}" if vaults else ""
    text = f"""Answer this question from the documents that ragdrop keeps:

{question}

Call rag_query{where} first. If its answer abstains or leaves something open, call rag_context_search{where} with other
words, and read whole documents as resources where a passage is not enough.

Rules: say only what the documents say. Put [n] after each statement and list under the answer which document each
number stands for, by vault and path. Where documents disagree, say so and name both. Where they do not answer the
question, say that they do not."""
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=PROMPT.description, messages=[message])
