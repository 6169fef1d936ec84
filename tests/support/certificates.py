"""Self-signed certificates, and a Mosquitto that uses one."""

import shutil
import ssl
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.daemon import free_port, takes_connections, wait_until


def certificate(folder, name="localhost", days=90):
    """Create a self-signed certificate, expired if days are negative; return a server's TLS context and both files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ends = datetime.now(UTC) + timedelta(days=days)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - timedelta(days=365))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / f"{name}.pem", folder / f"{name}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(public, private)
    return tls, public, private


@contextmanager
def tls_broker(folder, days=90):
    """Start a Mosquitto that accepts only TLS; return its port and the file of its authority."""
    _, public, private = certificate(folder, days=days)
    port = free_port()
    config = folder / "tls.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type error\nuser root\n"
        f"certfile {public}\nkeyfile {private}\n"
    )
    process = subprocess.Popen([shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", str(config)])
    try:
        wait_until(lambda: takes_connections(port), "mosquitto with TLS")
        yield port, public
    finally:
        process.kill()
        process.wait()
