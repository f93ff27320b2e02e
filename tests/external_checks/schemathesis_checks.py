"""An additional schemathesis check: the server may refuse valid data only because of its cursor."""

import schemathesis


@schemathesis.check
def only_a_cursor_is_refused(ctx, response, case):
    """A schema cannot describe valid cursors, so the configuration accepts 400."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        sent = "cursor" in (case.query or {})
        assert response.status_code != 400 or sent, "Valid data was answered with 400"
