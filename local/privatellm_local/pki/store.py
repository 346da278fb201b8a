"""Keep the certificates of a state directory complete and fresh.

``ensure`` may run as often as one likes: it makes what is missing, replaces what no longer fits (close
to its end, other addresses, another authority, a key that was half written) and touches nothing else.
"""

from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from privatellm_local import files
from privatellm_local.addresses import AddressPlan
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory, issuing, kubeconfigs
from privatellm_local.pki.inventory import Authority, CertificateSpec
from privatellm_local.pki.issuing import KeyPair


def certificate_file(paths: StatePaths, name: str) -> Path:
    """Return where a certificate is."""
    return paths.pki / f"{name}.crt"


def key_file(paths: StatePaths, name: str) -> Path:
    """Return where the private key of a certificate is."""
    return paths.pki / f"{name}.key"


def public_key_file(paths: StatePaths, name: str) -> Path:
    """Return where a public key without a certificate is."""
    return paths.pki / f"{name}.pub"


def ensure(paths: StatePaths, plan: AddressPlan, now: datetime) -> int:
    """Make the PKI complete and return how many certificates were made.

    Args:
        paths: The environment.
        plan: Its addresses, which servers' certificates carry.
        now: The time, with a time zone.

    Raises:
        StateError: when a file cannot be read or written.
    """
    made = 0
    authorities: dict[Authority, KeyPair] = {}
    for authority in Authority:
        pair = _load(paths, authority)
        if pair is None or not issuing.is_fresh(pair, now):
            pair = _save(paths, authority, issuing.new_authority(authority, now))
            made += 1
        authorities[authority] = pair
    for spec in inventory.certificates(plan):
        made += _ensure_certificate(paths, spec, authorities[spec.authority], now)
    _ensure_service_account_key(paths)
    _write_kubeconfigs(paths, plan)
    return made


def _ensure_certificate(
    paths: StatePaths, spec: CertificateSpec, authority: KeyPair, now: datetime
) -> bool:
    pair = _load(paths, spec.name)
    if pair is not None and issuing.fits(pair, spec, authority, now):
        return False
    _save(paths, spec.name, issuing.issue(spec, authority, now))
    return True


def _ensure_service_account_key(paths: StatePaths) -> None:
    name = inventory.SERVICE_ACCOUNT_KEY
    key = _load_key(key_file(paths, name))
    if key is None:
        key = issuing.new_key()
        files.write_atomically(key_file(paths, name), _private_pem(key))
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    files.write_if_changed(public_key_file(paths, name), public.decode())


def _write_kubeconfigs(paths: StatePaths, plan: AddressPlan) -> None:
    authority = _read(certificate_file(paths, Authority.CLUSTER))
    for user in inventory.USERS:
        name = user.certificate.name
        text = kubeconfigs.render(
            server=plan.apiserver_url,
            user=user.name,
            authority=authority,
            certificate=_read(certificate_file(paths, name)),
            key=_read(key_file(paths, name)),
        )
        files.write_if_changed(paths.kubeconfig(user.name), text)


def _load(paths: StatePaths, name: str) -> KeyPair | None:
    certificate = files.read_text(certificate_file(paths, name))
    key = _load_key(key_file(paths, name))
    if certificate is None or key is None:
        return None
    try:
        return KeyPair(x509.load_pem_x509_certificate(certificate.encode()), key)
    except ValueError:
        # Damaged; the caller makes a new one.
        return None


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey | None:
    text = files.read_text(path)
    try:
        key = serialization.load_pem_private_key(text.encode(), None) if text else None
    except (ValueError, UnsupportedAlgorithm):
        # Damaged; the caller makes a new one.
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _save(paths: StatePaths, name: str, pair: KeyPair) -> KeyPair:
    # The key goes first: a certificate without its key would look complete to a quick glance.
    files.write_atomically(key_file(paths, name), _private_pem(pair.key))
    certificate = pair.certificate.public_bytes(serialization.Encoding.PEM)
    files.write_atomically(certificate_file(paths, name), certificate)
    return pair


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _read(path: Path) -> str:
    return files.read_text(path) or ""
