"""A question as a LangChain function: retrieve from OpenSearch, answer by the chat model, sources beside it."""

import json
import os
from typing import Any

from langchain_community.vectorstores import OpenSearchVectorSearch
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

PROMPT = ChatPromptTemplate.from_template(
    "Answer the question from the context alone; if it does not say, say that you do not know.\n\n"
    "Question: {question}\n\nContext: {context}\n\nAnswer:"
)
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
retriever = store.as_retriever(search_kwargs={"k": 5})
chain = PROMPT | ChatOpenAI(model="none", base_url=os.environ["CHAT_URL"], api_key="none") | StrOutputParser()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    question = json.loads(event["body"])["query"]
    found = retriever.invoke(question)
    answer = chain.invoke({"question": question, "context": "\n\n".join(each.page_content for each in found)})
    body = {"answer": answer, "sources": [each.metadata.get("source") for each in found]}
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
