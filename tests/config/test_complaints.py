"""What is said of a table's fields, in one line."""

from dataclasses import dataclass

import pytest
from pydantic import TypeAdapter, ValidationError

from curta.config.complaints import complaint
from curta.config.errors import UserError


@dataclass(frozen=True)
class Kiln:
    heat: int
    door: str = "shut"

    def __post_init__(self) -> None:
        if self.heat > 9:
            raise UserError("kiln.heat is above 9")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"heat": "2"}', "x: kiln.heat: input should be a valid integer"),
        ("{}", "x: kiln.heat: field required"),
        ('{"haet": 2}', "x: unknown field 'kiln.haet': did you mean 'kiln.heat'?"),
        ('{"heat": "2", "lid": 1}', "x: unknown field 'kiln.lid': choose from kiln.door, kiln"),
        ('{"heat": 10}', "x: kiln.heat is above 9"),
        ("[1]", "x: kiln: "),
    ],
)
def test_one_line_for_the_first_mistake(text: str, line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Kiln).validate_json(text, strict=True, extra="forbid")
    assert str(complaint(caught.value, "x", lambda _: ["heat", "door"], "kiln")).startswith(line)
