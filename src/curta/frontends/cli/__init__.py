"""The command line: parse, call, print. Nothing heavy is imported before it is needed."""

import sys
from collections.abc import Sequence

from curta.config.errors import UserError
from curta.frontends.cli.parser import parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. A user's mistake is one line and exit code 2; ours keeps its traceback."""
    try:
        options = parse(sys.argv[1:] if arguments is None else list(arguments))
        return int(options.command(options))
    except UserError as error:
        print(f"curta: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("curta: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
