"""The command line: thin, one command a module."""
