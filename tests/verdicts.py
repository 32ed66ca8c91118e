"""The verdicts of a test: one line for each part, and the status at the end."""
import sys

_failures = 0


def report(part, good, text=""):
    """`text` is shown where the part is not good."""
    global _failures
    _failures += not good
    print(f"{'passed' if good else 'FAILED'}: {part}" + (f": {text}" if text and not good else ""), flush=True)


def end_test():
    sys.exit(_failures != 0)
