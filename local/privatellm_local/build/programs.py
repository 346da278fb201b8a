"""Which programs there are, what each is built from, and the digest that says when to build again."""

import platform
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

KUBERNETES_VERSION = "v1.37.2"
HELM_VERSION = "v4.3.1"
HELM_3_VERSION = "v3.22.0"
KRO_VERSION = "v0.9.4"
REGISTRY_VERSION = "v3.1.2"
PROMETHEUS_VERSION = "v0.316.0"
"""Of the Go module: Prometheus 3.16.0."""

MODULES = Path(__file__).parent
"""Directory of the Go modules that pin every dependency."""

FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")


@dataclass(frozen=True, slots=True)
class Program:
    """One program that is built from a pinned module."""

    name: str
    module: str
    """Directory of its Go module below :data:`MODULES`."""

    package: str
    linker_flags: str = "-s -w"
    minutes: float = 0.5
    """What a build takes on two idle cores, for the message that asks for patience."""

    tags: str = ""
    """Go's build constraints that hold, with commas between them."""

    @property
    def directory(self) -> Path:
        """Where ``go`` is run."""
        return MODULES / self.module

    @property
    def flags(self) -> tuple[str, ...]:
        """What ``go list`` and ``go build`` are both told."""
        return (*FLAGS, f"-tags={self.tags}") if self.tags else FLAGS

    def digest(self, go_version: str) -> str:
        """Return a digest of everything that the program is made of."""
        inputs = [
            *((self.directory / name).read_text(encoding="utf-8") for name in ("go.mod", "go.sum")),
            self.package,
            self.linker_flags,
            *self.flags,
            go_version,
            platform.machine(),
        ]
        return sha256("\0".join(inputs).encode()).hexdigest()[:16]


def _kubernetes(name: str, minutes: float = 0.5) -> Program:
    # Without the version the API server calls itself v0.0.0 and clients do not know what it can do.
    version = f"-X k8s.io/component-base/version.gitVersion={KUBERNETES_VERSION}"
    package = f"k8s.io/kubernetes/cmd/{name}"
    return Program(name, "kubernetes", package, f"-s -w {version}", minutes)


PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver", minutes=5),
    _kubernetes("kube-controller-manager", minutes=1.5),
    _kubernetes("kube-scheduler"),
)
"""The control plane, which ``privatellm up`` needs."""

HELM = Program(
    "helm",
    "helm",
    "helm.sh/helm/v4/cmd/helm",
    f"-s -w -X helm.sh/helm/v4/internal/version.version={HELM_VERSION}",
    minutes=2,
)
"""What installs the chart; only its tests need it."""

HELM_3 = Program(
    "helm",
    "helm3",
    "helm.sh/helm/v3/cmd/helm",
    f"-s -w -X helm.sh/helm/v3/internal/version.version={HELM_3_VERSION}"
    # As in its own releases: the Kubernetes that charts are rendered for where no cluster says another.
    " -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1"
    " -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37"
    " -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1"
    " -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=37",
    minutes=2,
)
"""The Helm that many platforms still run, for the same tests."""

KRO = Program("kro", "kro", "github.com/kubernetes-sigs/kro/cmd/controller", minutes=2)
"""The controller behind the ResourceGraphDefinition of ``ocm/``; only its tests need it."""

REGISTRY = Program(
    "registry", "registry", "github.com/distribution/distribution/v3/cmd/registry", minutes=1
)
"""An OCI registry, to which tests push charts and between which they move the component."""

PROMTOOL = Program(
    "promtool",
    "prometheus",
    "github.com/prometheus/prometheus/cmd/promtool",
    minutes=1.5,
    # Without what finds targets in two dozen clouds, whose libraries would be most of the build.
    tags="remove_all_sd",
)
"""Prometheus' own engine over given series, with which tests try the charts' rules."""
