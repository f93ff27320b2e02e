"""A check in addition to those of schemathesis: valid data may be refused for its cursor only."""

import schemathesis


@schemathesis.check
def only_a_cursor_is_refused(ctx, response, case):
    """No schema says which cursors there are, so the configuration accepts 400."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        sent = "cursor" in (case.query or {})
        assert response.status_code != 400 or sent, "Valid data was answered with 400"
