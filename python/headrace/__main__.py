"""`python -m headrace …` is the command `headrace …`."""

import sys

from headrace._src.command import main

sys.exit(main())
