"""Ingest as a LangChain function: S3 event -> embeddings -> OpenSearch; parts as its documentation has them."""

import os
from typing import Any
from urllib.parse import unquote_plus

import boto3
from langchain_community.vectorstores import OpenSearchVectorSearch
from langchain_core.documents import Document
from langchain_openai import OpenAIEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

s3 = boto3.client("s3")
splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, add_start_index=True)
store = OpenSearchVectorSearch(
    os.environ["INDEX_URL"],
    "documents",
    OpenAIEmbeddings(
        model=os.environ["EMBEDDING_MODEL"],
        base_url=os.environ["EMBEDDING_URL"],
        api_key="none",
        check_embedding_ctx_length=False,
    ),
)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Index what the event names; texts only, where ragdrop's function reads PDF, DOCX, HTML and more."""
    added = 0
    for record in event["Records"]:
        bucket, key = record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"])
        text = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode("utf-8")
        chunks = splitter.split_documents([Document(text, metadata={"source": key})])
        added += len(store.add_documents(chunks, ids=[f"{key}:{number}" for number in range(len(chunks))]))
    return {"chunks": added}
