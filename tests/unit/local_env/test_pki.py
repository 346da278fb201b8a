import ssl
from base64 import b64decode
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from privatellm_local.addresses import AddressPlan, plan_for
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory, issuing, store
from privatellm_local.pki.inventory import Authority, CertificateSpec

NOW = datetime.now(UTC).replace(microsecond=0)


def _certificate(paths: StatePaths, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(store.certificate_file(paths, name).read_bytes())


def _all(paths: StatePaths) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths.pki.iterdir()}


@pytest.fixture
def made(paths: StatePaths, plan: AddressPlan) -> StatePaths:
    """A state directory with a complete PKI."""
    store.ensure(paths, plan, NOW)
    return paths


def test_every_certificate_is_signed_by_its_own_authority(
    made: StatePaths, plan: AddressPlan
) -> None:
    """And by no other: etcd does not trust the cluster's users."""
    for spec in inventory.certificates(plan):
        certificate = _certificate(made, spec.name)
        for authority in Authority:
            issuer = _certificate(made, authority)
            if authority is spec.authority:
                certificate.verify_directly_issued_by(issuer)
            else:
                with pytest.raises(ValueError, match="issuer"):
                    certificate.verify_directly_issued_by(issuer)


def test_every_file_is_private(made: StatePaths) -> None:
    """Keys are 0600, and so is everything beside them."""
    modes = {path.stat().st_mode & 0o777 for path in made.pki.iterdir()}
    modes |= {path.stat().st_mode & 0o777 for path in made.kubeconfigs.iterdir()}

    assert modes == {0o600}


def test_ensuring_twice_changes_nothing(made: StatePaths, plan: AddressPlan) -> None:
    """Tokens and kubeconfigs that were handed out stay valid."""
    before = _all(made)

    assert store.ensure(made, plan, NOW) == 0
    assert _all(made) == before


@pytest.mark.parametrize(
    ("age", "is_renewed"),
    [
        (issuing.CERTIFICATE_LIFETIME - issuing.RENEWAL_MARGIN - timedelta(days=1), False),
        (issuing.CERTIFICATE_LIFETIME - issuing.RENEWAL_MARGIN, True),
        (issuing.CERTIFICATE_LIFETIME * 2, True),
    ],
)
def test_certificates_are_renewed_before_they_end(
    made: StatePaths, plan: AddressPlan, age: timedelta, is_renewed: bool
) -> None:
    """The authorities, which live longer, stay."""
    authority = _certificate(made, Authority.CLUSTER)

    renewed = store.ensure(made, plan, NOW + age)

    assert renewed == (len(inventory.certificates(plan)) if is_renewed else 0)
    assert _certificate(made, Authority.CLUSTER) == authority


def test_an_authority_close_to_its_end_takes_its_certificates_with_it(
    made: StatePaths, plan: AddressPlan
) -> None:
    """A certificate of the old authority would not be trusted."""
    later = NOW + issuing.AUTHORITY_LIFETIME

    store.ensure(made, plan, later)

    _certificate(made, "apiserver").verify_directly_issued_by(_certificate(made, Authority.CLUSTER))


@pytest.mark.parametrize("damage", ["", "-----BEGIN EC PRIVATE KEY-----\nno", "not PEM"])
def test_a_half_written_key_is_replaced(made: StatePaths, plan: AddressPlan, damage: str) -> None:
    """A crash while writing heals by itself."""
    store.key_file(made, "apiserver").write_text(damage)

    assert store.ensure(made, plan, NOW) == 1
    ssl.create_default_context().load_cert_chain(
        store.certificate_file(made, "apiserver"), store.key_file(made, "apiserver")
    )


def test_a_key_of_another_certificate_is_noticed(made: StatePaths, plan: AddressPlan) -> None:
    """A crash between key and certificate leaves such a pair."""
    store.key_file(made, "kubelet").write_bytes(store.key_file(made, "scheduler").read_bytes())

    assert store.ensure(made, plan, NOW) == 1


def test_the_api_server_is_trusted_by_every_name_it_has(
    made: StatePaths, plan: AddressPlan
) -> None:
    """Loopback, cluster IP and the in-cluster names."""
    certificate = _certificate(made, "apiserver")
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert {str(ip) for ip in names.get_values_for_type(x509.IPAddress)} == {
        "127.0.0.1",
        str(plan.kubernetes_service),
    }
    assert {"localhost", "kubernetes.default", "kubernetes.default.svc.cluster.local"} <= set(
        names.get_values_for_type(x509.DNSName)
    )


def test_other_addresses_make_another_certificate(made: StatePaths) -> None:
    """Only the API server's carries an address of the slot."""
    assert store.ensure(made, plan_for(1), NOW) == 1


def test_nobody_but_the_bootstrap_user_is_beyond_rbac(plan: AddressPlan) -> None:
    """People never get a credential of system:masters."""
    unrestricted = [
        spec.name
        for spec in inventory.certificates(plan)
        if spec.organization.startswith("system:")
    ]

    assert unrestricted == ["user-bootstrap"]


def test_a_kubeconfig_is_complete_in_itself(made: StatePaths, plan: AddressPlan) -> None:
    """It can be copied away from the state directory."""
    config = yaml.safe_load(made.kubeconfig(inventory.ADMIN.name).read_text())

    (cluster,) = config["clusters"]
    (user,) = config["users"]
    certificate = x509.load_pem_x509_certificate(b64decode(user["user"]["client-certificate-data"]))
    (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert cluster["cluster"]["server"] == plan.apiserver_url
    assert name.value == inventory.ADMIN.common_name
    assert str(made.root) not in made.kubeconfig(inventory.ADMIN.name).read_text()


def test_a_changed_subject_is_noticed() -> None:
    """A release that renames a user gets a certificate for the new name."""
    authority = issuing.new_authority(Authority.CLUSTER, NOW)
    spec = CertificateSpec("a", Authority.CLUSTER, inventory.Usage.CLIENT, "old")
    renamed = CertificateSpec("a", Authority.CLUSTER, inventory.Usage.CLIENT, "new")
    pair = issuing.issue(spec, authority, NOW)

    assert issuing.fits(pair, spec, authority, NOW)
    assert not issuing.fits(pair, renamed, authority, NOW)
