"""A question as a LlamaIndex function: its query engine over OpenSearch, sources beside the answer."""

import json
import os
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore

store = OpensearchVectorStore(
    OpensearchVectorClient(os.environ["INDEX_URL"], "documents", dim=int(os.environ["EMBEDDING_DIMENSION"]))
)
embedding = OpenAILikeEmbedding(
    model_name=os.environ["EMBEDDING_MODEL"], api_base=os.environ["EMBEDDING_URL"], api_key="none"
)
model = OpenAILike(model="none", api_base=os.environ["CHAT_URL"], api_key="none", is_chat_model=True)
engine = VectorStoreIndex.from_vector_store(store, embed_model=embedding).as_query_engine(llm=model)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    reply = engine.query(json.loads(event["body"])["query"])
    body = {"answer": str(reply), "sources": [each.node.metadata.get("source") for each in reply.source_nodes]}
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
