"""Untrusted. The lists of commands: a line for each in ``interp --help``, by what it is for; a sentence in a group."""

from __future__ import annotations

from collections.abc import Mapping

import click


class SentenceGroup(click.Group):
    """A group that lists every command with its whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list, a sentence on as many lines as it takes."""
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            formatter.write_dl([(name, self.commands[name].get_short_help_str(limit=1000)) for name in names])


class SectionedGroup(click.Group):
    """A group whose commands are listed by section: the section's name, the command's name, what the command does."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # what click.group passes on
        self.sections: dict[str, list[str]] = {}

    def add_section(self, title: str, commands: Mapping[click.Command, str]) -> None:
        """Adds commands with the line that the overview has for each."""
        for command, line in commands.items():
            command.short_help = line
            self.add_command(command)
            self.sections.setdefault(title, []).append(str(command.name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the overview; a command of no section stands at its end."""
        listed = {name for names in self.sections.values() for name in names}
        rest = [name for name in self.list_commands(ctx) if name not in listed]
        rows = []
        for title, names in [*self.sections.items(), ("", rest)]:
            for i, name in enumerate(names):
                rows.append(("" if i else title, name, self.commands[name].get_short_help_str(limit=80)))
        wide, narrow = (max(len(row[column]) for row in rows) for column in (0, 1))
        with formatter.section("Commands (each has --help)"):
            for title, name, line in rows:
                formatter.write(f"  {title:<{wide}}  {name:<{narrow}}  {line}\n")
