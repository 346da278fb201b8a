"""The ``privatellm`` command for users and platform engineers; one file a subcommand."""
