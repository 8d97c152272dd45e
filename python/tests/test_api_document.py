"""The OpenAPI document of a box's API is one, by the specification's own schema."""

import json
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

DOCUMENT = Path(__file__).parents[2] / "docs/api/openapi.json"


def document() -> Any:
    return json.loads(DOCUMENT.read_text())


def test_the_document_is_openapi() -> None:
    validate(document(), cls=OpenAPIV31SpecValidator)


def test_a_wrong_document_is_found() -> None:
    wrong = document()
    wrong["paths"]["/api/v1/stations/{station}"]["get"]["parameters"].clear()
    with pytest.raises(OpenAPIValidationError, match="station"):
        validate(wrong, cls=OpenAPIV31SpecValidator)
