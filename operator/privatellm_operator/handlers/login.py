"""kopf's way to the API server: the same credentials as everybody else's in this process."""

from typing import Any

import kopf

from privatellm.kube.credentials import Credentials, load_credentials


def add_login(registry: kopf.OperatorRegistry) -> None:
    """Let kopf log in whenever it starts or its credentials were refused."""

    async def login(**_: Any) -> kopf.ConnectionInfo:
        return await connection_info(await load_credentials())

    kopf.on.login(registry=registry, id="login")(login)


async def connection_info(credentials: Credentials) -> kopf.ConnectionInfo:
    """Return kopf's form of our credentials."""
    configuration = credentials.configuration
    scheme, _, token = (await credentials.headers()).get("Authorization", "").partition(" ")
    return kopf.ConnectionInfo(
        server=credentials.server,
        ca_path=configuration.ssl_ca_cert or None,
        ca_data=configuration.ca_cert_data or None,
        insecure=not configuration.verify_ssl,
        certificate_path=configuration.cert_file or None,
        private_key_path=configuration.key_file or None,
        scheme=scheme or None,
        token=token or None,
    )
