"""Make keys and certificates, and decide when one must be made again. No files here.

Elliptic-curve keys (P-256) throughout: a key costs well under a millisecond, so nothing is gained by
sharing one between identities.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from privatellm_local.pki.inventory import Authority, CertificateSpec, Usage

AUTHORITY_LIFETIME = timedelta(days=3650)
CERTIFICATE_LIFETIME = timedelta(days=365)

RENEWAL_MARGIN = timedelta(days=30)
"""A certificate that ends sooner is renewed by the next `up`; nothing is renewed while it runs."""

CLOCK_SLACK = timedelta(minutes=5)
"""Certificates are valid a little before they are made, for clocks that are set back."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and the private key that belongs to it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a fresh private key."""
    return ec.generate_private_key(ec.SECP256R1())


def new_authority(authority: Authority, now: datetime) -> KeyPair:
    """Return a self-signed authority that may sign certificates but no other authority."""
    key = new_key()
    name = _name(f"private-llm {authority}", "")
    builder = _builder(name, name, key, now, AUTHORITY_LIFETIME)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return KeyPair(builder.sign(key, hashes.SHA256()), key)


def issue(spec: CertificateSpec, authority: KeyPair, now: datetime) -> KeyPair:
    """Return a new certificate, with a new key, as the specification says."""
    key = new_key()
    issuer = authority.certificate
    lifetime = min(CERTIFICATE_LIFETIME, issuer.not_valid_after_utc - now)
    subject = _name(spec.common_name, spec.organization)
    builder = _builder(subject, issuer.subject, key, now, lifetime)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(_extended_usage(spec.usage), critical=False)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
        critical=False,
    )
    if spec.hosts:
        names = x509.SubjectAlternativeName([_host(host) for host in spec.hosts])
        builder = builder.add_extension(names, critical=False)
    return KeyPair(builder.sign(authority.key, hashes.SHA256()), key)


def is_fresh(pair: KeyPair, now: datetime) -> bool:
    """Return whether the key fits its certificate and the certificate will last a while."""
    certificate = pair.certificate
    return (
        certificate.public_key() == pair.key.public_key()
        and certificate.not_valid_before_utc <= now
        and now + RENEWAL_MARGIN < certificate.not_valid_after_utc
    )


def fits(pair: KeyPair, spec: CertificateSpec, authority: KeyPair, now: datetime) -> bool:
    """Return whether an existing certificate still is what the specification asks for."""
    return (
        is_fresh(pair, now)
        and pair.certificate.subject == _name(spec.common_name, spec.organization)
        and _hosts(pair.certificate) == [_host(host) for host in spec.hosts]
        and _is_signed_by(pair.certificate, authority.certificate)
    )


def _is_signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, InvalidSignature):
        return False
    return True


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common_name: str, organization: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(IPv4Address(host))
    except ValueError:
        return x509.DNSName(host)


def _hosts(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        return list(
            certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        )
    except x509.ExtensionNotFound:
        return []


def _extended_usage(usage: Usage) -> x509.ExtendedKeyUsage:
    server, client = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
    wanted = {Usage.SERVER: [server], Usage.CLIENT: [client], Usage.BOTH: [server, client]}
    return x509.ExtendedKeyUsage(wanted[usage])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
