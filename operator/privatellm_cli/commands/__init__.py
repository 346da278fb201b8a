"""The subcommands; each is a thin function that parses, calls and prints."""
