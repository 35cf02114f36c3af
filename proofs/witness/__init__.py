"""Trusted. Transformer files of both forms, read window by window: JSON lines, and the binary form (``.npz``).

What a file says is decoded again whenever a pass needs it, and only a few windows are kept; a digest of every window,
taken when the file was read first, makes sure that it is the same each time. Formats: docs/reference/formats.md.

Imports go one way: windows, archive, numbers, chunk, steps, lines, arrays.
"""
