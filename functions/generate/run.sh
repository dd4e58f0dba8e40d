#!/bin/sh
# The handler where ResponseStreaming is true: the Lambda Web Adapter starts this and passes requests on over HTTP.
# The runtime's own start is left out then, so its folders are named here: the layer's, and the one that holds boto3.
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}/opt/python:${LAMBDA_RUNTIME_DIR:-/var/runtime}"
exec python3 -m uvicorn app:adapted --host 127.0.0.1 --port "${AWS_LWA_PORT:-8080}" --lifespan off --no-access-log --no-server-header
