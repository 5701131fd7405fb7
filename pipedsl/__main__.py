"""``python -m pipedsl``: the command line."""

import sys

from pipedsl.cli.main import main

sys.exit(main())
