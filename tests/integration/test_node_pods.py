"""The host node as the API server, ``kubectl`` and HTTP clients see it."""

import asyncio
import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import embedded
import node_agent
from eventually import eventually
from node_agent import HostNode, python, server
from node_pods import (
    available,
    container_status,
    gone,
    is_ready,
    pod_of,
    ready,
    terminated,
    url_of,
)
from privatellm.errors import RejectedError
from privatellm.kube import KubeClient, Manifest, kinds

pytestmark = pytest.mark.integration

OF_THE_USER = str(Path("~/.ssh/id_rsa").expanduser())
END = "/tmp/end"  # noqa: S108 - a path inside a pod


@pytest.fixture(scope="module")
def node(
    environment: embedded.Environment, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HostNode]:
    """A running host node of the tests' own, which nothing is scheduled to."""
    directory = tmp_path_factory.mktemp("node")
    node = node_agent.beside(environment.state, directory, f"test-{secrets.token_hex(3)}")
    taints = [{"key": "llm.privatellms.msp/test", "effect": "NoSchedule"}]
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name},
        "spec": {"taints": taints},
    }
    _kubectl(kubeconfig, "create", "-f", "-", stdin=json.dumps(manifest))
    node.start()
    yield node
    selector = f"--field-selector=spec.nodeName={node.name}"
    _kubectl(kubeconfig, "delete", "pod", "-A", selector, "--timeout=60s")
    assert node.stop() == 0
    _kubectl(kubeconfig, "delete", "node", node.name)


def _kubectl(kubeconfig: Path, *arguments: str, stdin: str = "") -> str:
    program = Path(sys.executable).with_name("kubectl")
    finished = subprocess.run(
        [program, f"--kubeconfig={kubeconfig}", *arguments],
        input=stdin,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=90,
    )
    return finished.stdout


async def test_a_deployment_rolls_and_scales_behind_its_service(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """No request is lost in a roll, and with no pod at all the answer is 503."""
    await client.create(kinds.DEPLOYMENT, node.deployment(namespace, "web", replicas=2))
    await client.create(kinds.SERVICE, node.service(namespace, "web"))
    await available(client, namespace, "web", 2)
    url, done = await url_of(client, namespace, "web"), asyncio.Event()
    answers: list[httpx.Response] = []

    async def load() -> None:
        while not done.is_set():
            async with httpx.AsyncClient(timeout=10) as http:
                answers.append(await http.get(url))

    async with asyncio.TaskGroup() as group:
        group.create_task(load())
        group.create_task(load())
        annotations = {"spec": {"template": {"metadata": {"annotations": {"roll": "1"}}}}}
        await client.patch(kinds.DEPLOYMENT, "web", namespace, annotations)
        await available(client, namespace, "web", 2)
        done.set()

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) > 2, "old and new pods have answered"

    await client.patch(kinds.DEPLOYMENT, "web", namespace, {"spec": {"replicas": 0}})

    async def nobody() -> bool:
        async with httpx.AsyncClient() as http:
            answer = await http.get(url)
        return answer.status_code == 503 and answer.headers["connection"] == "close"

    await eventually(nobody, what="503")


async def test_a_pod_that_ends_finishes_what_it_has(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """Its Service sends nothing new, and the grace period is not waited for in vain."""
    await client.create(kinds.DEPLOYMENT, node.deployment(namespace, "web"))
    await client.create(kinds.SERVICE, node.service(namespace, "web"))
    await available(client, namespace, "web", 1)
    url = await url_of(client, namespace, "web")

    async with httpx.AsyncClient(timeout=10) as http:
        slow = asyncio.create_task(http.get(f"{url}/slow"))
        await eventually(lambda: _connected(url), what="the slow request's connection")
        await client.patch(kinds.DEPLOYMENT, "web", namespace, {"spec": {"replicas": 0}})

        assert (await slow).status_code == 200


async def test_a_container_is_told_to_end_when_its_hook_has_been_answered(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """A server that is asked by its ``preStop`` hook still serves while it is."""
    hook = {"preStop": {"httpGet": {"path": "/hook", "port": "http"}}}
    await client.create(kinds.POD, node.pod(namespace, "web", server(lifecycle=hook)))
    await client.create(kinds.SERVICE, node.service(namespace, "web"))
    await ready(client, namespace, "web")
    url = await url_of(client, namespace, "web")

    async with httpx.AsyncClient(timeout=30) as http:
        waiting = asyncio.create_task(http.get(f"{url}/until-hook"))
        await eventually(lambda: _connected(url), what="the waiting request's connection")
        await client.delete(kinds.POD, "web", namespace)

        assert (await waiting).status_code == 200


async def _connected(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    command = ["ss", "-Htn", "state", "established", "dst", host, "dport", f"= :{port}"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    stdout, _ = await process.communicate()
    return bool(stdout)


async def test_a_crashing_container_says_why_and_backs_off(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """Exit code, the last words of its log, and the count of its restarts."""
    code = "import sys; print('first'); print('{\"reason\": \"X\"}', file=sys.stderr); sys.exit(7)"
    container = python(code, terminationMessagePolicy="FallbackToLogsOnError")
    await client.create(kinds.POD, node.pod(namespace, "crash", container))

    async def backing_off() -> dict[str, Any] | None:
        status = container_status(await pod_of(client, namespace, "crash"))
        waiting = status["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
        return status if waiting and status["restartCount"] >= 2 else None

    status = await eventually(backing_off, what="the back-off")
    assert status is not None
    last = status["lastState"]["terminated"]
    assert last["exitCode"] == 7
    assert last["reason"] == "Error"
    assert last["message"].splitlines()[-1] == '{"reason": "X"}'


async def test_a_pod_that_did_its_work_stays_finished(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """Its message is the one it wrote, and a restarted agent leaves it alone."""
    container = python("open('/tmp/end','w').write('done')", terminationMessagePath=END)
    await client.create(kinds.POD, node.pod(namespace, "job", container, restartPolicy="Never"))

    assert (await terminated(client, namespace, "job"))["message"] == "done"
    assert node.stop() == 0
    node.start()
    await client.create(kinds.POD, node.pod(namespace, "later", server()))
    await ready(client, namespace, "later")

    pod = await pod_of(client, namespace, "job")
    assert pod["status"]["phase"] == "Succeeded"
    assert container_status(pod)["restartCount"] == 0


@pytest.mark.parametrize(
    ("fields", "spec", "reason", "said"),
    [
        ({"image": "nginx:1"}, {}, "ErrImageNeverPull", "nginx:1"),
        ({"command": ["sh", "-c"]}, {}, "ErrImageNeverPull", "['python']"),
        (
            {"livenessProbe": {"exec": {"command": ["true"]}}},
            {},
            "CreateContainerConfigError",
            "image table",
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            {"volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]},
            "CreateContainerConfigError",
            "/etc",
        ),
        (
            {
                "args": ["$(KEY)"],
                "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            },
            {},
            "CreateContainerConfigError",
            "command line",
        ),
        ({"args": ["--path", OF_THE_USER]}, {}, "CreateContainerConfigError", OF_THE_USER),
        (
            {"env": [{"name": "LLAMA_ARG_MODEL", "value": OF_THE_USER}]},
            {},
            "CreateContainerConfigError",
            "LLAMA_ARG_MODEL",
        ),
    ],
    ids=[
        "image",
        "command",
        "exec probe",
        "host path",
        "secret in args",
        "the user's file in args",
        "the user's file in a variable",
    ],
)
async def test_what_the_node_does_not_do_is_refused_in_words(
    client: KubeClient,
    namespace: str,
    node: HostNode,
    fields: dict[str, Any],
    spec: dict[str, Any],
    reason: str,
    said: str,
) -> None:
    """The container waits with a reason and a sentence, and nothing of it runs."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": namespace},
        "stringData": {"k": "hidden"},
    }
    await client.create(kinds.SECRET, secret)
    container = python("pass") | fields
    await client.create(kinds.POD, node.pod(namespace, "refused", container, **spec))

    async def refused() -> dict[str, Any] | None:
        status = container_status(await pod_of(client, namespace, "refused"))
        waiting: dict[str, Any] = status["state"].get("waiting", {})
        return waiting if waiting.get("reason") == reason else None

    waiting = await eventually(refused, what=reason)
    assert waiting is not None
    assert said in waiting["message"]
    assert "hidden" not in waiting["message"]
    with pytest.raises(RejectedError, match=f"is waiting to start: {reason}"):
        [line async for line in client.lines(kinds.POD.path(namespace, "refused", "log"))]


IDENTITY = """
import json, os, ssl, urllib.request
config = json.load(open(os.environ["KUBECONFIG"]))
cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
request = urllib.request.Request(
    cluster["server"] + "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    data=json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode(),
    headers={
        "Authorization": "Bearer " + open(user["tokenFile"]).read(),
        "Content-Type": "application/json",
    },
)
context = ssl.create_default_context(cafile=cluster["certificate-authority"])
answer = json.load(urllib.request.urlopen(request, context=context))
open("/tmp/end", "w").write(answer["status"]["userInfo"]["username"])
"""


async def test_a_pod_reaches_the_api_server_as_its_service_account(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """With the kubeconfig and the token that it is given."""
    container = python(IDENTITY, terminationMessagePath=END)
    await client.create(kinds.POD, node.pod(namespace, "who", container, restartPolicy="Never"))

    end = await terminated(client, namespace, "who")

    assert end["message"] == f"system:serviceaccount:{namespace}:default"


READ = """
import os, sys, time
print(sys.argv[1], os.stat(sys.argv[1]).st_mode & 0o777, flush=True)
last = None
while True:
    now = open(sys.argv[1]).read()
    if now != last:
        print(os.environ["HOSTNAME"], now, flush=True)
    last = now
    time.sleep(0.05)
"""


async def test_a_mounted_secret_is_private_and_follows_its_object(
    client: KubeClient, namespace: str, node: HostNode, kubeconfig: Path
) -> None:
    """The path in the argument is where the file is; ``kubectl logs`` shows what the pod saw."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": namespace},
        "stringData": {"key": "one"},
    }
    await client.create(kinds.SECRET, secret)
    container = python(READ, volumeMounts=[{"name": "keys", "mountPath": "/keys"}])
    container["args"].append("/keys/key")
    volumes = [{"name": "keys", "secret": {"secretName": "s"}}]
    await client.create(kinds.POD, node.pod(namespace, "reader", container, volumes=volumes))
    await ready(client, namespace, "reader")

    async def logs_say(text: str) -> None:
        async def look() -> bool:
            return text in _kubectl(kubeconfig, "logs", "-n", namespace, "reader")

        await eventually(look, what=f"{text!r} in the log")

    await logs_say("reader one")
    await logs_say(f"/key {0o600}")
    await client.patch(kinds.SECRET, "s", namespace, {"stringData": {"key": "two"}})
    await logs_say("reader two")

    tail = _kubectl(kubeconfig, "logs", "-n", namespace, "reader", "--tail=1")
    assert tail == "reader two\n"


async def test_a_claim_is_bound_keeps_its_data_and_takes_it_along(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """One pod writes, another reads, and with the claim its volume and directory go."""
    await client.create(kinds.STORAGE_CLASS, node.storage_class())
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {
            "storageClassName": node.name,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    await client.create(kinds.PERSISTENT_VOLUME_CLAIM, claim)
    mounts = [{"name": "data", "mountPath": "/data"}]
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    read = "open('/tmp/end', 'w').write(open('/data/x').read())"
    for name, code in (("write", "open('/data/x', 'w').write('kept')"), ("read", read)):
        container = python(code, volumeMounts=mounts, terminationMessagePath=END)
        manifest = node.pod(namespace, name, container, volumes=volumes, restartPolicy="Never")
        await client.create(kinds.POD, manifest)
        end = await terminated(client, namespace, name)
        assert end["exitCode"] == 0, end
        await client.delete(kinds.POD, name, namespace)
        await gone(client, namespace, name)

    assert end["message"] == "kept"
    bound = await client.get(kinds.PERSISTENT_VOLUME_CLAIM, "data", namespace)
    assert bound is not None
    volume = await client.get(kinds.PERSISTENT_VOLUME, bound["spec"]["volumeName"])
    assert volume is not None
    directory = node.config.root_dir / "volumes" / volume["metadata"]["name"]
    assert directory.exists()
    await client.delete(kinds.PERSISTENT_VOLUME_CLAIM, "data", namespace)

    async def removed() -> bool:
        name = volume["metadata"]["name"]
        found = await client.get(kinds.PERSISTENT_VOLUME, name)
        return found is None and not directory.exists()

    await eventually(removed, what="the volume's end")
    await client.delete(kinds.STORAGE_CLASS, node.name)


async def test_an_agent_that_was_killed_takes_up_where_it_was(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """Containers start again under the same address; what had completed does not."""
    mounts = [{"name": "w", "mountPath": "/w"}]
    init = python("open('/w/runs', 'a').write('x')", name="init", volumeMounts=mounts)
    spec = {"initContainers": [init], "volumes": [{"name": "w", "emptyDir": {}}]}
    await client.create(kinds.POD, node.pod(namespace, "web", server(), **spec))
    before = await ready(client, namespace, "web")

    node.stop(signal.SIGKILL)
    node.start()

    async def restarted() -> Manifest | None:
        pod = await pod_of(client, namespace, "web")
        again = container_status(pod)["restartCount"] == 1
        return pod if again and is_ready(pod) else None

    after = await eventually(restarted, what="the restarted pod")
    assert after is not None
    assert after["status"]["podIPs"] == before["status"]["podIPs"]
    assert after["status"]["initContainerStatuses"][0]["restartCount"] == 0
    runs = node.config.root_dir / "pods" / after["metadata"]["uid"] / "volumes" / "w" / "runs"
    assert runs.read_text() == "x"


async def test_a_pod_that_was_deleted_while_no_agent_ran_is_only_removed(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """It is not started again for the sake of being stopped."""
    await client.create(kinds.POD, node.pod(namespace, "web", server()))
    uid = (await ready(client, namespace, "web"))["metadata"]["uid"]
    assert node.stop() == 0
    await client.delete(kinds.POD, "web", namespace)
    assert (await pod_of(client, namespace, "web"))["metadata"]["deletionTimestamp"]

    node.start()

    await gone(client, namespace, "web")
    assert not (node.config.root_dir / "pods" / uid).exists()
    assert f"{namespace}/web: main is process" not in node.log.read_text().rpartition("accepted")[2]


async def test_a_liveness_probe_restarts_a_container(
    client: KubeClient, namespace: str, node: HostNode
) -> None:
    """After its threshold, and the pod says so."""
    probe = {"tcpSocket": {"port": 1}, "periodSeconds": 1, "failureThreshold": 2}
    await client.create(kinds.POD, node.pod(namespace, "web", server(livenessProbe=probe)))

    async def restarted() -> bool:
        return bool(container_status(await pod_of(client, namespace, "web"))["restartCount"])

    await eventually(restarted, what="the restart")


async def test_the_log_server_refuses_strangers(node: HostNode) -> None:
    """Without a certificate of the cluster there is not even a handshake."""
    url = f"https://127.0.0.1:{node.config.kubelet_port}/containerLogs/a/b/c"

    async with httpx.AsyncClient(verify=False) as http:  # noqa: S501 - a stranger does not care
        with pytest.raises(httpx.TransportError):
            await http.get(url)
