"""Every setting, from the environment (prefix TIPTRACE_) or a .env file, in one frozen object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from service.domain.address import normal_email
from service.domain.errors import InvalidParameter
from service.domain.policy import Policy
from service.mail_server import server_of


def default_data_dir() -> Path:
    """Where the embedded default keeps its data unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "tiptrace"


class Settings(BaseSettings):
    """Each field's description is its line in the documentation's table; a test keeps that table complete."""

    model_config = SettingsConfigDict(
        env_prefix="TIPTRACE_", env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    backend: Literal["embedded", "aws"] = Field(
        "embedded",
        description="`embedded` starts its own database, queue and storage; `aws` uses the AWS variables.",
    )
    data: Path = Field(default_factory=default_data_dir, description="Folder of the embedded default's data.")
    table_prefix: str = Field("tiptrace-", description="Put before every table's name.")
    bucket: str = Field("tiptrace-movies", description="S3 bucket of movies and results.")
    queue_url: str | None = Field(
        None, description="SQS queue of traces; unset: found or made by name (`<prefix>jobs`)."
    )
    inspect_queue_url: str | None = Field(
        None,
        description="SQS queue of inspections; unset: that of TIPTRACE_QUEUE_URL if it is set, else found or made by"
        " name (`<prefix>inspections`).",
    )
    lease_seconds: int = Field(900, ge=3, description="How long a lease lives without a renewal (D).")
    heartbeat_seconds: float = Field(
        30, gt=0, description="How often a job renews its lease (H), at most a third of D."
    )
    sweep_seconds: float = Field(
        15, gt=0, description="How often each worker looks for jobs nobody announced or renews."
    )
    max_attempts: int = Field(3, ge=1, description="How often a job may lose its worker before it fails.")
    receipt_days: int = Field(30, ge=1, description="Days that a request key is remembered after its job ended.")
    max_upload_bytes: int = Field(268_435_456, ge=1, description="Largest movie that can be uploaded.")
    max_frames: int = Field(10_000, ge=1, description="Longest movie, in frames.")
    max_pixels: int = Field(16_000_000, ge=1, description="Largest frame, in pixels.")
    workers: int | None = Field(
        None,
        ge=0,
        description="Worker slots; unset: one per core for the embedded default and `worker`, none for `serve` on AWS.",
    )
    grace_seconds: float = Field(
        20, ge=0, description="How long a stopping worker lets a job go on before it is handed back."
    )
    drain_seconds: float = Field(
        1,
        ge=0,
        description="How long a web service that was told to stop goes on serving while `/readyz` already says 503.",
    )
    job_seconds: int = Field(3600, ge=1, description="How long one attempt of a job may take.")
    job_megabytes: int = Field(640, ge=256, description="Memory that one job's process may use for data.")
    secret_key: SecretStr | None = Field(
        None, description="Signs sign-in links; unset: made once and kept in the data folder (embedded only)."
    )
    public_url: str | None = Field(
        None, description="The address that people type, for links in mail and the check of where a write came from."
    )
    smtp_url: SecretStr | None = Field(
        None,
        description="Mail server: `smtp://user:password@host:port`, `smtps://...`, or `smtp://...?starttls`."
        " Unset: letters go into the folder `outbox` (embedded), or none are sent (`aws`).",
    )
    mail_from: str | None = Field(
        None, description="Sender of the letters; unset: `tiptrace@` and the host of TIPTRACE_PUBLIC_URL."
    )
    rate_limit_storage_url: str = Field(
        "memory://",
        description="Where attempts to sign in are counted; several machines share `redis://...`"
        " (needs `pip install redis`).",
    )
    trusted_proxies: int = Field(
        0, ge=0, description="How many proxies stand in front, whose X-Forwarded-For and -Proto are believed."
    )
    page_idle_minutes: int = Field(
        30, ge=1, le=1440, description="After how long without a person an Analyze page lets others edit."
    )
    legacy_query_key: bool = Field(
        False, description="1: accept an API key in the query string, as older clients send it."
    )
    video_preset: str = Field("veryfast", pattern=r"^[a-z]+$", description="x264 preset of the labelled movie.")
    emf: bool = Field(
        False, description="1: write the metrics into the log too, in CloudWatch's embedded metric format."
    )
    emf_namespace: str = Field(
        "tiptrace", min_length=1, max_length=255, description="CloudWatch namespace of the metrics in the log."
    )
    emf_seconds: float = Field(60, ge=1, description="How often the metrics are written into the log.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="How much is logged.")

    @model_validator(mode="after")
    def _lease_holds_three_heartbeats(self) -> Settings:
        if self.heartbeat_seconds > self.lease_seconds / 3:
            raise ValueError(
                f"TIPTRACE_HEARTBEAT_SECONDS ({self.heartbeat_seconds:g}) must be at most a third of"
                f" TIPTRACE_LEASE_SECONDS ({self.lease_seconds}), so that two lost renewals do not lose a lease"
            )
        return self

    @field_validator("smtp_url")
    @classmethod
    def _leads_to_a_mail_server(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            server_of(url.get_secret_value())
        return url

    @field_validator("mail_from")
    @classmethod
    def _is_one_address(cls, address: str | None) -> str | None:
        try:
            return normal_email(address) if address else None
        except InvalidParameter as fault:
            raise ValueError(fault.details["why"]) from None

    @model_validator(mode="after")
    def _mail_has_an_address_to_lead_to(self) -> Settings:
        """A link's address must not be taken from a request: whoever asks for a link for somebody else writes it."""
        if self.smtp_url is not None and not self.public_url:
            raise ValueError("TIPTRACE_SMTP_URL needs TIPTRACE_PUBLIC_URL, where the links in the mail lead")
        return self

    def policy(self) -> Policy:
        """The numbers that the rules need."""
        return Policy(
            lease_seconds=self.lease_seconds,
            heartbeat_seconds=self.heartbeat_seconds,
            max_attempts=self.max_attempts,
            receipt_days=self.receipt_days,
            max_upload_bytes=self.max_upload_bytes,
            max_frames=self.max_frames,
            max_pixels=self.max_pixels,
        )
