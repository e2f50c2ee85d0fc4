"""The run-time type checker of the suite: beartype, for which an int is a float as well."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
