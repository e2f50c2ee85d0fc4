"""`python -m curta`."""

import sys

from curta.frontends.cli import main

sys.exit(main())
