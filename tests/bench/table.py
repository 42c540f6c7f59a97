"""Results of the measurements, as text and as JSON."""

import json
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of the README, and the value that it has to reach."""

    name: str
    unit: str
    relation: str  # ">=" or "<="
    bound: float
    measures: str  # the measurement that yields it

    def met_by(self, value: float) -> bool:
        compare: Callable[[float, float], bool] = operator.ge if self.relation == ">=" else operator.le
        return compare(value, self.bound)


@dataclass(frozen=True, slots=True)
class Figure:
    """Value of a goal, and the numbers from which it was computed."""

    name: str
    value: float
    made_of: str


def say(text: str) -> None:
    """Print progress to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def show(goals: Sequence[Goal], figures: Sequence[Figure], footnotes: Sequence[str]) -> None:
    """Print the table."""
    values = {figure.name: figure for figure in figures}
    width = max(len(goal.name) for goal in goals)
    say("")
    say(f"{'':{width}}  {'value':>9}  {'goal':>10}  met")
    for goal in goals:
        figure = values[goal.name]
        value, bound = f"{figure.value:.2f} {goal.unit}", f"{goal.relation} {goal.bound:g} {goal.unit}"
        met = "yes" if goal.met_by(figure.value) else "NO"
        say(f"{goal.name:{width}}  {value:>9}  {bound:>10}  {met:3}  {figure.made_of}")
    say("")
    for note in footnotes:
        say(note)


def write(path: Path, goals: Sequence[Goal], figures: Sequence[Figure]) -> None:
    """Write the figures as a list of `{name, value, unit, goal, met}`."""
    values = {figure.name: figure.value for figure in figures}
    rows = [
        {
            "name": goal.name,
            "value": round(values[goal.name], 3),
            "unit": goal.unit,
            "goal": f"{goal.relation} {goal.bound:g}",
            "met": goal.met_by(values[goal.name]),
        }
        for goal in goals
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows, indent=2) + "\n")
