"""Which Maven artifacts make a single OpenSearch node with k-NN, for each release that ragdrop is tested on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

GROUP = "org.opensearch"
MODULE_GROUP = "org.opensearch.plugin"


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the server: the artifact it is published as, its plugin class, and whose classes it builds on."""

    name: str
    artifact: str
    plugin_class: str
    extends: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """One release.

    `server` are `group:artifact:version`; `needs_policy`: it still runs under a security manager; `more_plugins` are
    folder names and artifacts of plugins besides k-NN, and `variant` then keeps its programs apart.
    """

    version: str
    java: int
    server: tuple[str, ...]
    modules: tuple[Module, ...]
    java_options: tuple[str, ...] = field(default=())
    needs_policy: bool = False
    more_plugins: tuple[tuple[str, str], ...] = ()
    variant: str = ""

    @property
    def folder(self) -> str:
        """The name of the folder that holds its programs."""
        return self.version + self.variant

    @property
    def plugins(self) -> tuple[tuple[str, str], ...]:
        """Folder and artifact of each plugin; each is a zip."""
        return (("opensearch-knn", self.knn), *self.more_plugins)

    @property
    def knn(self) -> str:
        """The k-NN plugin of exactly this version, as a zip.

        >>> RELEASES["3.6.0"].knn
        'org.opensearch.plugin:opensearch-knn:3.6.0.0'
        """
        return f"{MODULE_GROUP}:opensearch-knn:{self.version}.0"


def _server(version: str, log4j: str, *extra: str) -> tuple[str, ...]:
    own = ("opensearch", "opensearch-plugin-classloader", *extra)
    logging = tuple(f"org.apache.logging.log4j:{name}:{log4j}" for name in ("log4j-api", "log4j-core"))
    return tuple(f"{GROUP}:{name}:{version}" for name in own) + logging


def _modules(suffix: str) -> tuple[Module, ...]:
    base = "org.opensearch"
    return (
        Module("transport-netty4", "transport-netty4-client", f"{base}.transport.Netty4{suffix}"),
        Module("lang-painless", "lang-painless", f"{base}.painless.Painless{suffix}"),
        Module("analysis-common", "analysis-common", f"{base}.analysis.common.CommonAnalysis{suffix}", "lang-painless"),
        Module("mapper-extras", "mapper-extras-client", f"{base}.index.mapper.MapperExtras{suffix}"),
        Module("reindex", "reindex-client", f"{base}.index.reindex.Reindex{suffix}"),
    )


# The k-NN plugin must match the server's version exactly, and Maven has no k-NN zip after 3.6.0.0: so 3.6.0.
# log4j-core is not among the server's own dependencies; its version is the one that release's log4j-jul was built with.
RELEASES: dict[str, Release] = {
    "3.6.0": Release(
        version="3.6.0",
        java=21,
        server=_server("3.6.0", "2.25.3", "opensearch-agent-bootstrap"),
        # k-NN 3.x extends the gRPC transport, so that module has to be there although nothing uses it
        modules=(
            *_modules("ModulePlugin"),
            Module("transport-grpc", "transport-grpc", "org.opensearch.transport.grpc.GrpcPlugin"),
        ),
        java_options=("--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"),
    ),
    "2.19.0": Release(
        version="2.19.0",
        java=17,
        server=_server("2.19.0", "2.21.0"),
        modules=_modules("Plugin"),
        java_options=("--add-modules=jdk.incubator.vector", "-Djava.security.manager=allow"),
        needs_policy=True,
    ),
}
DEFAULT_RELEASE = "3.6.0"
# With the `hybrid` query that other frameworks use: for benchmarks beside them, ragdrop has no use for it.
HYBRID_RELEASE = "3.6.0-hybrid"
RELEASES[HYBRID_RELEASE] = replace(
    RELEASES["3.6.0"],
    more_plugins=(("opensearch-neural-search", f"{MODULE_GROUP}:neural-search:3.6.0.0"),),
    variant="-hybrid",
)
