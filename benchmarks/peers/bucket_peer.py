"""The program for ragdrop over the bucket index, in a state bucket in memory; asked like the one over OpenSearch."""

from __future__ import annotations

from benchmarks.peers.ragdrop_peer import Ragdrop
from benchmarks.peers.serving import serve


class BucketRagdrop(Ragdrop):
    """The same composition root; the configurations that send requests again have none here."""

    over_opensearch = False


if __name__ == "__main__":
    serve(BucketRagdrop())
