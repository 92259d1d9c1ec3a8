"""Ask what is known to be wrong with the packages that the image holds: `python .ci/audit.py [requirements file]`.

Ends with 1 if one of them has a known vulnerability, or if pip-audit itself is broken. Where none of its services
answers, that is said in words and nothing is known; a machine without the internet does not fail for that alone.
"""

from __future__ import annotations

import json
import re
import subprocess  # nosec B404  # it starts pip-audit of this environment, with fixed arguments
import sys
from dataclasses import dataclass

LOCK = "deploy/requirements.lock"
SERVICES = ("pypi", "osv")
_SILENT = re.compile(r"^(requests\.exceptions|urllib3\.exceptions|pip_audit\._service)\.\w+", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What one service said. `asked`: about how many packages it had anything to say."""

    words: str
    asked: int = 0
    fails: bool = False


def judged(service: str, stdout: str, stderr: str) -> Answer:
    """What pip-audit's JSON, or its lack of any, means."""
    try:
        told = json.loads(stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = stderr.strip().splitlines()[-1:] or ["no output"]
        if _SILENT.match(last[0]):
            return Answer(f"pip-audit could not ask {service}: {last[0][:160]}")
        return Answer(f"pip-audit did not work: {last[0]}", fails=True)
    asked = [one for one in told if "skip_reason" not in one]
    bad = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no release'}"
        for one in asked
        for flaw in one["vulns"]
    ]
    if bad:
        return Answer("Known vulnerabilities:\n  " + "\n  ".join(bad), len(asked), fails=True)
    unknown = [one["name"] for one in told if "skip_reason" in one]
    if not asked:
        return Answer(f"pip-audit could not ask {service}: it knows none of the {len(told)} packages")
    but = f"; it does not know {', '.join(unknown)}" if unknown else ""
    return Answer(f"No vulnerability of {len(asked)} packages is known to {service}{but}", len(asked))


def ask(service: str, requirements: str, *more: str) -> Answer:
    """What `service` says about the packages that a file pins."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", requirements, "--disable-pip", "--no-deps"]
    command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off", "--timeout", "5"]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)  # nosec B603  # fixed arguments
    return judged(service, done.stdout, done.stderr)


def main(requirements: str = LOCK, *more: str) -> int:
    """Ask one service after the other, until one answers; 1 if there is something to mend."""
    for service in SERVICES:
        answer = ask(service, requirements, *more)
        print(answer.words)
        if answer.fails:
            return 1
        if answer.asked:
            return 0
    print("Nothing is known about vulnerabilities of the dependencies: no service answered.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
