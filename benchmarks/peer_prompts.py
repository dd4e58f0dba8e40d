"""The frameworks' prompts read like ragdrop's own: the question and the numbered sources in them."""

from __future__ import annotations

import re

from localstack.models.sources import ShownSource, Task, read_task

_LANGCHAIN = re.compile(r"Source ID: (\d+)\nSnippet: (.*?)(?=\n\nSource ID: |\Z)", re.DOTALL)
_LLAMA_INDEX = re.compile(r"Source (\d+):\n(.*?)(?=\n+Source \d+:\n|\n------)", re.DOTALL)
_HAYSTACK = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |^Question: )", re.DOTALL | re.MULTILINE)
_TURN = "Now it's your turn."


def read_prompt(messages: list[str]) -> Task | None:
    r"""What the messages ask, whichever of the systems wrote them; None where they have no sources.

    >>> task = read_prompt(["Documents:\n[1] The pump is red.\n[2] The valve is blue.\nQuestion: Which colour?\n"])
    >>> task.question, [source.text for source in task.sources]
    ('Which colour?', ['The pump is red.', 'The valve is blue.'])
    """
    last = messages[-1]
    own = read_task(last)
    if own is not None:
        return own
    if _TURN in last:
        body = last.partition(_TURN)[2]
        return _task(body.rpartition("Query: ")[2].partition("\nAnswer:")[0], _LLAMA_INDEX.findall(body))
    if last.startswith("Documents:"):
        return _task(last.rpartition("Question: ")[2].partition("\nAnswer:")[0], _HAYSTACK.findall(last))
    return _task(last, _LANGCHAIN.findall(messages[0]))


def _task(question: str, found: list[tuple[str, str]]) -> Task | None:
    sources = tuple(ShownSource(int(number), "", "", text.strip()) for number, text in found)
    return Task(question.strip(), sources) if sources else None
