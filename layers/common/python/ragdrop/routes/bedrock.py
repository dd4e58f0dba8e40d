"""Citations in the shape of Amazon Bedrock's RetrieveAndGenerate, so that its clients can read them.

Shape: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_Citation.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragdrop.domain.answers import Answer, Citation, Claim


def bedrock_citations(answer: Answer) -> list[dict[str, Any]]:
    """One entry a cited sentence that was verified; `span` counts code points of the answer, `end` exclusive."""
    return [
        {
            "generatedResponsePart": {
                "textResponsePart": {"text": claim.text, "span": {"start": claim.start, "end": claim.end}}
            },
            "retrievedReferences": [_reference(citation) for citation in citations if citation.status == "verified"],
        }
        for claim, citations in cited_claims(answer)
        if claim.status == "verified"
    ]


def cited_claims(answer: Answer) -> Iterator[tuple[Claim, list[Citation]]]:
    """The claims that cite something, each with its own citations: both lists are in the order of the answer."""
    left = iter(answer.citations)
    for claim in answer.claims:
        if claim.markers:
            yield claim, [citation for _, citation in zip(claim.markers, left, strict=False)]


def _reference(citation: Citation) -> dict[str, Any]:
    hit = citation.hit
    return {
        "content": {"type": "TEXT", "text": citation.quote},
        "location": {"type": "S3", "s3Location": {"uri": f"s3://{citation.bucket}/{hit.key.s3_key}"}},
        "metadata": {
            "x-amz-bedrock-kb-source-uri": f"s3://{citation.bucket}/{hit.key.s3_key}",
            "x-amz-bedrock-kb-chunk-id": hit.chunk_id,
            "version_id": hit.facts.version_id,
            "start": citation.start,
            "end": citation.end,
        },
    }
