"""Every setting, from the environment (prefix TIPTRACE_) or a .env file, in one frozen object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from service.domain.policy import Policy


def default_data_dir() -> Path:
    """Where the embedded default keeps its data unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "tiptrace"


class Settings(BaseSettings):
    """Each field's description is its line in the documentation's table; a test keeps that table complete."""

    model_config = SettingsConfigDict(env_prefix="TIPTRACE_", env_file=".env", extra="ignore", frozen=True)

    backend: Literal["embedded", "aws"] = Field(
        "embedded",
        description="`embedded` starts its own database, queue and storage; `aws` uses the AWS variables.",
    )
    data: Path = Field(default_factory=default_data_dir, description="Folder of the embedded default's data.")
    table_prefix: str = Field("tiptrace-", description="Put before every table's name.")
    bucket: str = Field("tiptrace-movies", description="S3 bucket of movies and results.")
    queue_url: str | None = Field(None, description="SQS queue of jobs; unset: found or made by name (`<prefix>jobs`).")
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
    job_seconds: int = Field(3600, ge=1, description="How long one attempt of a job may take.")
    job_megabytes: int = Field(640, ge=256, description="Memory that one job's process may use for data.")
    secret_key: SecretStr | None = Field(
        None, description="Signs sign-in links; unset: made once and kept in the data folder (embedded only)."
    )
    public_url: str | None = Field(
        None, description="The address that people type, for links in mail and the check of where a write came from."
    )
    legacy_query_key: bool = Field(
        False, description="1: accept an API key in the query string, as older clients send it."
    )
    video_preset: str = Field("veryfast", pattern=r"^[a-z]+$", description="x264 preset of the labelled movie.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="How much is logged.")

    @model_validator(mode="after")
    def _lease_holds_three_heartbeats(self) -> Settings:
        if self.heartbeat_seconds > self.lease_seconds / 3:
            raise ValueError(
                f"TIPTRACE_HEARTBEAT_SECONDS ({self.heartbeat_seconds:g}) must be at most a third of"
                f" TIPTRACE_LEASE_SECONDS ({self.lease_seconds}), so that two lost renewals do not lose a lease"
            )
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
