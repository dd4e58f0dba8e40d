"""What streaming costs: the first token, and 10,000 of them against a bare relay on the same server.

The relay is a route of the same API under uvicorn on the loopback: the same chat model's pieces as the same events,
each written as it comes by the framework's own streaming response, and nothing read in them.

    python -m benchmarks.streaming [--write]      # --write keeps the record
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from benchmarks import records
from benchmarks.records import Grid, publish
from ragdrop.api.streams import EVENT_STREAM, sse
from ragdrop.domain.deadlines import Deadline
from ragdrop.ports.model_services import Completion, Message
from testing.models import ScriptedChatModel
from tests.served import answering_api, served
from tests.world import World

TOKENS, ROUNDS, FIRST_TOKENS = 10_000, 7, 30
FIRST_BUDGET_MS, RELAY_BUDGET = 20.0, 1.2
SENTENCE = "The pump of hall {n} was built in 19{n} and holds {n}5 litres of water."


class TimedChatModel(ScriptedChatModel):
    """Notes when its first token leaves."""

    first_s = 0.0

    def stream(self, messages: Sequence[Message], **how: Any) -> Iterator[str | Completion]:
        pieces = super().stream(messages, **how)
        first = next(pieces)
        self.first_s = time.perf_counter()
        yield first
        yield from pieces


def main() -> int:
    """Print the numbers beside their budgets; 1 if one is missed."""
    options = records.parser(__doc__).parse_args()
    world = World()
    text = " ".join(SENTENCE.format(n=n) for n in range(10, 40))
    world.put("team/pumps.md", text)
    chat = TimedChatModel()
    world.app.ports.chat = chat
    api = answering_api(world)
    assert isinstance(api, FastAPI)

    @api.post("/relay")
    async def relay() -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            for piece in chat.stream([], max_tokens=1, deadline=Deadline.after(600)):
                if isinstance(piece, str):
                    yield sse("token", {"text": piece})

        return StreamingResponse(events(), media_type=EVENT_STREAM)

    with served(api) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        chat.reply = "The pump is old [1]."
        first_tokens = [_first_token_ms(client, chat) for _ in range(FIRST_TOKENS)][5:]
        words = " ".join(f"word{n}" if n % 12 else f"word{n}. [1]" for n in range(TOKENS))
        chat.reply = words
        pairs = [(_whole_s(client, "/ask"), _whole_s(client, "/relay")) for _ in range(ROUNDS)]
    ratio = statistics.median(mine for mine, _ in pairs) / statistics.median(bare for _, bare in pairs)
    p95_ms = statistics.quantiles(first_tokens, n=20)[-1]
    results = (
        ("first token behind the model's, p95, ms", p95_ms, FIRST_BUDGET_MS),
        (f"{TOKENS:,} tokens / bare relay", ratio, RELAY_BUDGET),
    )
    rows = [(name, f"{budget:g}", f"{measured:.2f}") for name, measured, budget in results]
    publish("streaming", [Grid(("what", "budget", "measured"), rows)], "uvicorn", "fastapi", write=options.write)
    return int(any(measured > budget for _, measured, budget in results))


def _first_token_ms(client: httpx.Client, chat: TimedChatModel) -> float:
    with client.stream("POST", "/ask", json={"query": "pump", "stream": True}) as reply:
        arrived_s = 0.0
        for piece in reply.iter_raw():
            if not arrived_s and b"event: token" in piece:
                arrived_s = time.perf_counter()
    return (arrived_s - chat.first_s) * 1_000


def _whole_s(client: httpx.Client, route: str) -> float:
    start = time.perf_counter()
    with client.stream("POST", route, json={"query": "pump", "stream": True}) as reply:
        for _ in reply.iter_raw():
            pass
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
