"""Published values of whole files, which the tests cannot hold: python experiments/published/run.py [PART ...].

The tests read small cuts (tests/data). What was published for the whole files, and what belongs to data without a
licence, is checked here, beside the collection `../shared`. Every line says what was found, what was expected and
whether they agree; the exit status is 1 if one does not.
"""

import argparse
import sys

import collection
import networks

PARTS = {
    "networks": networks.checks,
    "collection": collection.checks,
    "flusight": collection.flusight,
    "cuts": collection.cuts,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    chosen = parser.parse_args().parts or list(PARTS)
    wrong = done = 0
    for part in chosen:
        for what, found, expected, agrees in PARTS[part]():
            done, wrong = done + 1, wrong + (not agrees)
            print(f"{'ok' if agrees else 'WRONG':5} {what:58} {found!s:>26} {expected!s:>26}", flush=True)
    print(f"{done} checks, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
