"""Does the advice on lease, heartbeat and sweep say of hand-made measurements what a person would say?"""

from __future__ import annotations

from math import inf

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from service.domain.finding import Finding, all_well
from service.domain.lease_advice import Distribution, Durations, LeaseAdvice, Measured, advise
from service.settings import Settings
from service.usecases.lease_figures import NoMetrics, figures_of

DEFAULTS = Durations(
    Settings.model_fields["lease_seconds"].default,
    Settings.model_fields["heartbeat_seconds"].default,
    Settings.model_fields["sweep_seconds"].default,
)
PROMPT = Distribution(((0.1, 9_950), (0.5, 40), (1, 10), (inf, 0)))
JOBS = Distribution(((30, 60), (60, 38), (300, 2)))


def measured(workers: Distribution = PROMPT, pages: Distribution = PROMPT, **more: object) -> Measured:
    told = {"jobs": JOBS, "queue_wait": Distribution(((0.5, 100),)), **more}
    return Measured({"tracing": workers, "analysis": pages}, **told)  # type: ignore[arg-type]


def verdicts(advised: LeaseAdvice) -> dict[str, str]:
    """The worst of each part."""
    order = ("well", "advice", "fault")
    found: dict[str, str] = {}
    for finding in advised.findings:
        found[finding.part] = max(found.get(finding.part, "well"), finding.verdict, key=order.index)
    return found


def of(advised: LeaseAdvice, part: str) -> Finding:
    return max((f for f in advised.findings if f.part == part), key=lambda f: f.verdict != "well")


def test_the_defaults_fit_a_service_whose_renewals_are_prompt() -> None:
    advised = advise(measured(), DEFAULTS)
    assert set(verdicts(advised).values()) == {"well"}
    assert advised.recommended == DEFAULTS
    assert of(advised, "lease").said == (
        "The lease (15 min) holds: 999 of 1000 renewals of workers were at most 0.5 s late, the latest 1 s,"
        " and it allows 14.5 min."
    )
    assert "half took 30 s at most, 95 of 100 60 s" in of(advised, "jobs").said


@pytest.mark.parametrize("who", ["workers", "pages"])
def test_a_lease_that_ended_before_some_renewals_came_is_too_short(who: str) -> None:
    late = Distribution(((0.1, 900), (60, 90), (300, 8), (600, 2)))
    advised = advise(measured(**{who: late}), Durations(180, 30, 15))  # type: ignore[arg-type]
    finding = of(advised, "lease")
    assert finding.verdict == "fault"
    assert f"renewals of {who} were at most 10 min late" in finding.said
    assert "2 of 1000 came after its end" in finding.said
    assert advised.recommended.lease == {"workers": 1800, "pages": 1800}[who]
    assert f"TIPTRACE_LEASE_SECONDS to {advised.recommended.lease:g}" in finding.todo
    assert not all_well(advised.findings)


def test_a_lease_with_less_room_than_the_latest_renewal_took_is_tight() -> None:
    advised = advise(measured(Distribution(((1, 1000), (60, 1)))), Durations(120, 15, 10))
    assert (of(advised, "lease").verdict, advised.recommended.lease) == ("advice", 180)
    assert "is tight" in of(advised, "lease").said


def test_a_lease_of_an_hour_is_longer_than_prompt_renewals_need() -> None:
    advised = advise(measured(), Durations(3600, 30, 15))
    assert (of(advised, "lease").verdict, advised.recommended.lease) == ("advice", 600)
    assert "longer than renewals need" in of(advised, "lease").said
    assert advise(measured(), advised.recommended).recommended == advised.recommended, "its own advice suits it"


def test_a_heartbeat_that_leaves_no_room_for_two_failures_is_too_long() -> None:
    advised = advise(measured(Distribution(((0.1, 500), (60, 500)))), Durations(300, 100, 15))
    finding = of(advised, "heartbeat")
    assert (finding.verdict, advised.recommended.heartbeat) == ("fault", 60)
    assert "room for 2 renewals that are 60 s late: two may not fail" in finding.said
    assert verdicts(advise(measured(), Durations(900, 300, 15)))["heartbeat"] == "fault", "a third of the lease"


def test_a_heartbeat_each_second_is_shorter_than_it_need_be() -> None:
    advised = advise(measured(), Durations(900, 1, 15))
    assert (of(advised, "heartbeat").verdict, advised.recommended.heartbeat) == ("advice", 30)


@pytest.mark.parametrize(("sweep", "verdict"), [(15, "well"), (60, "well"), (90, "advice"), (600, "advice")])
def test_sweeps_that_cost_a_lost_job_more_than_its_work_are_too_slow(sweep: float, verdict: str) -> None:
    advised = advise(measured(), Durations(900, 30, sweep))
    assert of(advised, "sweep").verdict == verdict
    assert advised.recommended.sweep == (15 if verdict == "advice" else sweep)


def test_a_long_queue_asks_for_workers_and_not_for_a_longer_lease() -> None:
    advised = advise(measured(queue_wait=Distribution(((1, 5), (1800, 95)))), DEFAULTS)
    assert of(advised, "queue").verdict == "advice"
    assert "Start more workers" in of(advised, "queue").todo
    assert advised.recommended == DEFAULTS


def test_attempts_that_were_lost_though_renewals_were_in_time_are_not_blamed_on_the_lease() -> None:
    advised = advise(measured(leases_lost=1, resumed=3), DEFAULTS)
    assert "3 attempts lost the lease, though renewals were in time" in of(advised, "jobs").said
    assert verdicts(advised)["lease"] == "well"


def test_of_a_handful_of_renewals_nothing_is_concluded() -> None:
    advised = advise(Measured({"tracing": Distribution(((1000, 5),))}), DEFAULTS)
    assert of(advised, "lease").said.startswith("Only 5 renewals of workers were measured")
    assert advised.recommended == DEFAULTS


def test_distributions_of_several_processes_are_joined_and_read_at_their_bounds() -> None:
    both = Distribution(((1, 3), (5, 1))).joined(Distribution(((1, 5), (10, 1), (inf, 0))))
    assert (both.count, both.within(0.5), both.within(0.9), both.within(1), both.highest) == (10, 1, 5, 10, 10)
    assert [both.above(seconds) for seconds in (0, 1, 4, 5, 9)] == [10, 2, 1, 1, 0]
    assert Distribution().within(0.5) == Distribution().highest == 0


def test_pages_of_metrics_are_read_as_prometheus_writes_them() -> None:
    pages = []
    for lateness in (0.2, 700):
        registry = CollectorRegistry()
        late = Histogram(
            "tiptrace_heartbeat_lateness_seconds", "...", ("kind",), registry=registry, buckets=(0.5, 600, 900)
        )
        job = Histogram("tiptrace_job_seconds", "...", ("kind", "outcome"), registry=registry, buckets=(60,))
        swept = Counter("tiptrace_sweeps", "...", ("action",), registry=registry)
        Gauge("tiptrace_lease_seconds", "...", registry=registry).set(450)
        for _ in range(60):
            late.labels("tracing").observe(lateness)
        job.labels("trace", "completed").observe(30)
        job.labels("trace", "lost").observe(5000)
        swept.labels("resumed").inc(2)
        pages.append(generate_latest(registry).decode())
    figures = figures_of(pages)
    assert figures.told == {"lease": 450}
    assert figures.measured.lateness["tracing"] == Distribution(((0.5, 60), (600, 0), (900, 60), (inf, 0)))
    assert (figures.measured.jobs.count, figures.measured.jobs.highest) == (2, 60)
    assert figures.measured.resumed == 4
    assert verdicts(advise(figures.measured, Durations(450, 30, 15)))["lease"] == "fault"


@pytest.mark.parametrize("page", ["", "<html>", "up 1\n", "tiptrace_jobs{ 1\n"])
def test_what_is_no_page_of_metrics_is_said_to_be_none(page: str) -> None:
    with pytest.raises(NoMetrics):
        figures_of([page])
