"""Ingest as a LlamaIndex function: S3 event -> embeddings -> OpenSearch, by its ingestion pipeline."""

import os
from typing import Any
from urllib.parse import unquote_plus

import boto3
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore

s3 = boto3.client("s3")
store = OpensearchVectorStore(
    OpensearchVectorClient(os.environ["INDEX_URL"], "documents", dim=int(os.environ["EMBEDDING_DIMENSION"]))
)
pipeline = IngestionPipeline(
    transformations=[
        SentenceSplitter(),
        OpenAILikeEmbedding(
            model_name=os.environ["EMBEDDING_MODEL"], api_base=os.environ["EMBEDDING_URL"], api_key="none"
        ),
    ],
    vector_store=store,
)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Index what the event names; texts only, where ragdrop's function reads PDF, DOCX, HTML and more."""
    added = 0
    for record in event["Records"]:
        bucket, key = record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"])
        text = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode("utf-8")
        added += len(pipeline.run(documents=[Document(text=text, id_=key, metadata={"source": key})]))
    return {"chunks": added}
