"""The runner: draws attacks with a seeded generator, counts, and says how to repeat a finding."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from tests.hostile.attack import Attack, Finding, crash, generator

SHOWN = 2000
"""Characters of a finding that are printed."""


class TookTooLong(BaseException):
    """A case that does not end."""


@dataclass
class Tally:
    """What one attack has done so far."""

    cases: int = 0
    seconds: float = 0.0
    found: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """Where each kind of fault was found first."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TookTooLong after that many seconds of work, or ten times as many of waiting."""

    def ring(*_: object) -> None:
        raise TookTooLong

    clocks = ((signal.SIGPROF, signal.ITIMER_PROF, 1.0), (signal.SIGALRM, signal.ITIMER_REAL, 10.0))
    before = [signal.signal(number, ring) for number, _, _ in clocks]
    for _, clock, times in clocks:
        signal.setitimer(clock, times * seconds)
    try:
        yield
    finally:
        for (number, clock, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0.0)
            signal.signal(number, handler)


def run_case(attack: Attack, seed: int, number: int) -> Finding | None:
    """One case, alone; what it raises is a finding."""
    try:
        with limited(attack.patience):
            return attack.case(generator(seed, number, attack.name))
    except TookTooLong:
        return Finding("hangs", f"after {attack.patience:g} s")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of polars is no Exception
        return crash("the attack itself failed", error)


class Runner:
    """Cases one after another until the time is up; findings are printed and kept."""

    def __init__(self, attacks: Sequence[Attack], seed: int, console: Console) -> None:
        self.attacks, self.seed, self.console = attacks, seed, console
        self.tallies = {attack.name: Tally() for attack in attacks}
        self.began = time.perf_counter()

    def run(self, seconds: float, cases: int | None = None, first: int = 0) -> int:
        """The number of findings; Ctrl-C ends it early."""
        weights = np.array([attack.weight for attack in self.attacks])
        number, shown = first, 0.0
        with Live(self.table(), console=self.console, auto_refresh=False) as live:
            try:
                while cases is None or number < first + cases:
                    if time.perf_counter() - self.began > seconds:
                        break
                    choose = np.random.default_rng([self.seed, number])
                    attack = self.attacks[choose.choice(len(weights), p=weights / weights.sum())]
                    self.one(attack, number)
                    number += 1
                    if time.perf_counter() > shown + 1.0:  # no thread: attacks fork
                        shown = time.perf_counter()
                        live.update(self.table(), refresh=True)
            except KeyboardInterrupt:
                self.console.print("Interrupted.")
            live.update(self.table(), refresh=True)
        return sum(sum(tally.found.values()) for tally in self.tallies.values())

    def one(self, attack: Attack, number: int) -> Finding | None:
        """One case, counted."""
        tally, started = self.tallies[attack.name], time.perf_counter()
        finding = run_case(attack, self.seed, number)
        tally.cases += 1
        tally.seconds += time.perf_counter() - started
        if finding is not None:
            where = f"{self.seed}:{number} (case {tally.cases}, {tally.seconds:.0f} s)"
            tally.first.setdefault(finding.kind, where)
            tally.found[finding.kind] += 1
            if tally.found[finding.kind] <= 3:  # more of a kind are counted
                self.say(attack, number, finding)
        return finding

    def say(self, attack: Attack, number: int, finding: Finding) -> None:
        detail = finding.detail.encode("unicode_escape").decode().replace("\\n", "\n  ")
        cut = f" ... ({len(detail)} characters)" if len(detail) > SHOWN else ""
        self.console.print(f"[bold red]{escape(finding.kind)}[/] ({attack.name})")
        self.console.print(escape(f"  {detail[:SHOWN]}{cut}"), highlight=False, soft_wrap=True)
        again = f"python -m tests.hostile --attack {attack.name} --case {self.seed}:{number}"
        self.console.print(f"  repeat: {again}", highlight=False, soft_wrap=True)

    def table(self) -> Table:
        """Attack, cases, findings, seconds."""
        table = Table(title=f"seed {self.seed}, {time.perf_counter() - self.began:.0f} s")
        for name in ("attack", "cases", "seconds", "findings", "kinds: how many, first at"):
            table.add_column(name, justify="right" if name in ("cases", "seconds") else "left")
        for name, tally in self.tallies.items():
            kinds = "\n".join(
                f"{escape(kind)}: {count}, {tally.first[kind]}"
                for kind, count in tally.found.most_common()
            )
            found = str(sum(tally.found.values()))
            table.add_row(name, str(tally.cases), f"{tally.seconds:.0f}", found, kinds)
        return table


def main(attacks: Sequence[Attack], arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    options = _options(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    if options.list:
        for attack in attacks:
            doc = (type(attack).__doc__ or "").splitlines()[0]
            console.print(f"{attack.name:14} {doc}", highlight=False)
        return 0
    known = {attack.name: attack for attack in attacks}
    wrong = [name for name in options.attack if name not in known]
    if wrong:
        console.print(f"There is no attack {wrong[0]!r}; --list names them.")
        return 2
    chosen = [known[name] for name in options.attack] or list(attacks)
    if options.case is not None:
        seed, number = (int(part) for part in options.case.split(":"))
        runner = Runner(chosen, seed, console)
        findings = [runner.one(attack, number) for attack in chosen]
        console.print("Found nothing." if not any(findings) else "")
        return int(any(findings))
    runner = Runner(chosen, options.seed, console)
    count = runner.run(60.0 * options.minutes, options.cases, options.first)
    return int(count > 0)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.hostile", description="Hostile testing.")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long; default 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="how many at most; default: no limit")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--attack", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--case", metavar="SEED:I", help="one case, with --attack")
    parser.add_argument("--list", action="store_true", help="the attacks")
    return parser.parse_args(arguments)
