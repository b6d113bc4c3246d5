"""`python -m headrace.ray run RECIPE --out TARGET --parts N` runs a recipe in parts on a Ray cluster."""

from __future__ import annotations

import argparse
import sys

from ..errors import HeadraceError
from ..pipeline import load
from .parts import Made, convert


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m headrace.ray", description=(__doc__ or "").strip())
    commands = parser.add_subparsers(required=True, metavar="run")
    run = commands.add_parser(
        "run",
        help="write a recipe's samples in parts, each by a task of the cluster",
        description="Write a recipe's samples in parts, each by a task of the cluster. Parts that are there and whole are not made again:"
        " the same command completes what was cut short. What comes after -- goes to headrace run, such as -- --on-error skip.",
    )
    run.add_argument("recipe", help='a YAML or JSON file, or "-" for standard input')
    run.add_argument("-o", "--out", required=True, help="the target, as of headrace run --out, which all nodes reach under this name")
    run.add_argument("--parts", type=int, required=True, help="how many; more than tasks at a time even out slow and fast machines")
    run.add_argument("--cpus", type=int, default=1, help="cores of each task (default 1)")
    run.add_argument("--address", help="host:port of the cluster's head, or auto (default: $RAY_ADDRESS, else a cluster on this machine)")
    run.add_argument("-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the recipe; may be repeated")
    given = sys.argv[1:] if arguments is None else arguments
    more: list[str] = []
    if "--" in given:
        at = given.index("--")
        given, more = given[:at], given[at + 1 :]
    o = parser.parse_args(given)

    done = 0

    def told(made: Made) -> None:
        nonlocal done
        done += 1
        print(f"part {made.part}/{o.parts} is whole: {made.samples:,} samples, {made.seconds:.1f} s on {made.node} ({done} of {o.parts})")

    try:
        variables = dict(one.partition("=")[::2] for one in o.set)
        made = convert(load(o.recipe, **variables), o.out, o.parts, cpus=o.cpus, options=more, address=o.address, told=told)
    except (HeadraceError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"All {len(made)} parts of {o.out} are whole: {sum(one.samples for one in made):,} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
