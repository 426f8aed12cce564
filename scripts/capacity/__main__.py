"""How many machines a number of users needs: python -m scripts.capacity plan --users 1e6"""

import argparse

from scripts.capacity import report
from scripts.capacity.fits import Fits
from scripts.capacity.options import add_choices, add_traffic, choices_of, traffic_of
from scripts.capacity.sizing import size


def main() -> None:
    parser = argparse.ArgumentParser(description="How many machines a number of users needs.")
    commands = parser.add_subparsers(required=True)
    plan = commands.add_parser("plan", help="what is needed at the peak of a day, and what it costs, by a formula")
    add_traffic(plan)
    add_choices(plan)
    given = parser.parse_args()
    choices = choices_of(given)
    print(report.plan(size(Fits.load(), traffic_of(given), choices), choices.prices))


if __name__ == "__main__":
    main()
