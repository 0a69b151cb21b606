"""The commands: those that answer about one table, those about several models, and those that stand by themselves.

A new command is a file here, or a function beside its kin: ``add_it(parser)``, which adds its options (those that it
shares with others are in `cli.options` and `cli.reading`) and ends with ``parser.set_defaults(runs=run_it)``; and a
line in `cli.parser`, which imports it when it is typed. Commands about one table, as `evaluate` is, are read, gated and
printed alike: `cli.tables`.
"""

__all__: list[str] = []  # imported when they are typed
