"""`python -m privatellm_local.modelserver`: run a model server with llama-server's arguments."""

import sys

from privatellm_local.modelserver.launcher import main

if __name__ == "__main__":
    sys.exit(main())
