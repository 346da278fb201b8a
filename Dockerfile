# The images of Private LLM: `--target operator`, `authserver` or `sync-agent`; and `--target sbom --build-arg
# IMAGE=operator` for the list of what is in one of them. docs/how-to/release.md says how a release builds them.
#
# The same commit gives the same layers: requirements are hashed, byte code carries hashes instead of times, and
# BuildKit's `rewrite-timestamp` does the rest. The base is the exception. A release looks its digest up, passes it
# (`--build-arg PYTHON=…@sha256:…`) and records it in a label; the default is a tag, because a digest that nobody
# looked up would only look like a pin.
ARG PYTHON=docker.io/library/python:3.11-slim-bookworm
ARG IMAGE=operator

FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /opt/src
COPY requirements/build.txt requirements/compile.py requirements/install.sh requirements/
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes --only-binary=:all: -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY operator/ operator/
COPY authserver/ authserver/
COPY sync-agent/ sync-agent/
COPY local/ local/
RUN /opt/build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /opt/wheel .

FROM build AS install-operator
COPY requirements/operator.txt requirements/
RUN sh requirements/install.sh operator

FROM build AS install-authserver
COPY requirements/authserver.txt requirements/
RUN sh requirements/install.sh authserver

FROM build AS install-sync-agent
COPY requirements/sync-agent.txt requirements/
RUN sh requirements/install.sh sync-agent

FROM install-${IMAGE} AS inventory
ARG IMAGE
RUN /opt/private-llm/bin/python -m privatellm_local.packaging.delivery.sbom "${IMAGE}" > /opt/sbom.json

FROM scratch AS sbom
COPY --from=inventory /opt/sbom.json /sbom.json

FROM ${PYTHON} AS runtime
ARG PYTHON
ARG VERSION=0.0.0
ARG REVISION=unknown
# Nothing may be written but /tmp, which is an emptyDir of the pod.
ENV PATH=/opt/private-llm/bin:/usr/local/bin:/usr/bin:/bin HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
LABEL org.opencontainers.image.vendor="The Private LLM maintainers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/private-llm/private-llm" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${PYTHON}"
USER 65532:65532

FROM runtime AS operator
LABEL org.opencontainers.image.title="Private LLM operator" \
      org.opencontainers.image.description="Operator, model fetcher and portal content of Private LLM"
COPY --from=install-operator /opt/private-llm /opt/private-llm
ENTRYPOINT ["privatellm-operator"]

FROM runtime AS authserver
LABEL org.opencontainers.image.title="Private LLM authserver" \
      org.opencontainers.image.description="ForwardAuth service of Private LLM"
COPY --from=install-authserver /opt/private-llm /opt/private-llm
ENTRYPOINT ["privatellm-authserver"]

FROM runtime AS sync-agent
LABEL org.opencontainers.image.title="Private LLM sync agent" \
      org.opencontainers.image.description="Mirrors kcp workspaces into the cluster that runs Private LLM"
COPY --from=install-sync-agent /opt/private-llm /opt/private-llm
ENTRYPOINT ["privatellm-sync-agent"]
