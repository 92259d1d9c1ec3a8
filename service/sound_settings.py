"""Do the settings fit each other and the place where they are used? What no single field can refuse at the start."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from urllib.parse import urlsplit

from service.domain.finding import Finding, advice, all_well, fault, well
from service.settings import Settings

SECRET_CHARACTERS = 32
_SECRET = "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"  # noqa: S105  how to make one
_HERE = ("localhost", "127.0.0.1", "::1")


def judge_settings(settings: Settings) -> list[Finding]:
    """Lease, secret, address, proxies and mail; on the embedded default also the data folder. Tells no secret."""
    found = [*_secret(settings), *_address(settings), *_times(settings)]
    if settings.backend == "aws":
        found += _behind_a_balancer(settings)
    else:
        found += _folder(settings)
    if all_well(found):
        said = (
            f"A lease lasts {settings.lease_seconds} s and is renewed every {settings.heartbeat_seconds:g} s;"
            f" workers sweep every {settings.sweep_seconds:g} s."
        )
        found.insert(0, well("settings", said))
    return found


def _secret(settings: Settings) -> list[Finding]:
    if settings.secret_key is None:
        if settings.backend == "embedded":
            return []  # made and kept in the data folder
        said = "TIPTRACE_SECRET_KEY is not set: web processes do not start."
        return [fault("settings", said, f"Set it to one long random text for all of them: {_SECRET}")]
    if len(settings.secret_key.get_secret_value()) < SECRET_CHARACTERS:
        said = f"TIPTRACE_SECRET_KEY is shorter than {SECRET_CHARACTERS} characters and can be guessed."
        return [fault("settings", said, f"Whoever guesses it signs in as anybody. Make another: {_SECRET}")]
    return []


def _address(settings: Settings) -> list[Finding]:
    if not settings.public_url:
        if settings.backend == "embedded":
            return []
        said = "TIPTRACE_PUBLIC_URL is not set: cookies are not kept to HTTPS, and no mail can be sent."
        return [fault("settings", said, "Set it to the address that people type, beginning with https://.")]
    parts = urlsplit(settings.public_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        said = "TIPTRACE_PUBLIC_URL is no address: every write from a page would be refused."
        return [fault("settings", said, "Write it as https://lab.example.org.")]
    if parts.scheme == "http" and parts.hostname not in _HERE:
        verdict = fault if settings.backend == "aws" else advice
        said = "TIPTRACE_PUBLIC_URL begins with http://: keys and movies can be read on their way."
        return [verdict("settings", said, "Put a proxy with TLS in front, and set the https:// address.")]
    return []


def _times(settings: Settings) -> list[Finding]:
    if settings.sweep_seconds <= settings.lease_seconds:
        return []
    said = "Sweeps come more rarely than leases run out: a lost job waits longer than TIPTRACE_LEASE_SECONDS."
    return [advice("settings", said, "Set TIPTRACE_SWEEP_SECONDS to a minute or less.")]


def _behind_a_balancer(settings: Settings) -> list[Finding]:
    found = []
    if settings.trusted_proxies == 0:
        said = "TIPTRACE_TRUSTED_PROXIES is 0: behind a balancer everybody's tries to sign in count as one address's."
        found.append(advice("settings", said, "Set it to the number of proxies in front, 1 for a load balancer."))
    if settings.smtp_url is None:
        said = "TIPTRACE_SMTP_URL is not set: nobody can register or ask for a sign-in link."
        found.append(advice("mail", said, "Set it, or hand out links with `tiptrace admin sign-in-link`."))
    return found


def _folder(settings: Settings) -> list[Finding]:
    """Room for the largest upload and its results, and nobody else who reads along."""
    found = []
    free = shutil.disk_usage(settings.data).free
    if free < 4 * settings.max_upload_bytes:
        verdict = fault if free < settings.max_upload_bytes else advice
        said = f"{settings.data} has room for {free / 1e9:.1f} GB, and one movie may be {_gigabytes(settings)}."
        found.append(verdict("data", said, "Make room, or move the folder (TIPTRACE_DATA) to a larger disk."))
    readable = [path.name for path in _private(settings.data) if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    if readable:
        said = f"Other users of this machine may read {', '.join(readable)} in {settings.data}."
        found.append(fault("data", said, f"chmod go= {' '.join(str(settings.data / name) for name in readable)}"))
    return found


def _private(folder: Path) -> list[Path]:
    return [path for name in ("secret-key", "outbox") if (path := folder / name).exists()]


def _gigabytes(settings: Settings) -> str:
    return f"{settings.max_upload_bytes / 1e9:.1f} GB"
