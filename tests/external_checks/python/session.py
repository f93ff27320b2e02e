"""Calls the live server with the clients that openapi-python-client generates.

Every response is typed: mypy --strict checks this file against the generated client.
"""

import os
from http import HTTPStatus
from typing import TypeVar

import orders_client_v2.api.orders.list_orders as list_page
import orders_client_v2.models as v2
from orders_client_v1 import AuthenticatedClient
from orders_client_v1.api.orders import cancel_order, list_orders
from orders_client_v1.models import Error, Order
from orders_client_v1.types import UNSET, Response, Unset
from orders_client_v2 import AuthenticatedClient as ClientV2
from orders_client_v2.models import ListOrdersStatus
from orders_client_v2.types import Unset as UnsetV2

Body = TypeVar("Body")

PENDING = int(os.environ["PENDING"])
SHIPPED = int(os.environ["SHIPPED"])
MISSING = int(os.environ["MISSING"])


def client(key: str) -> AuthenticatedClient:
    """The generated client with this key."""
    return AuthenticatedClient(
        base_url=os.environ["BASE_URL"], token=os.environ[key], raise_on_unexpected_status=True
    )


def expect_error(response: Response[Body], status: HTTPStatus, code: str) -> None:
    """Checks that the response is the documented error."""
    error = response.parsed
    assert response.status_code == status, response
    assert isinstance(error, Error), error
    assert (error.code, error.status) == (code, status.value), error
    assert error.message, error
    assert not error.additional_properties, error


def listed(orders: AuthenticatedClient) -> dict[int, Order]:
    """All orders by id."""
    body = list_orders.sync(client=orders)
    assert isinstance(body, list), body
    return {order.id: order for order in body}


def pending_of_pet_7() -> list[v2.Order]:
    """All pending orders of pet 7, in pages of 50."""
    orders = ClientV2(
        base_url=os.environ["URL_V2"], token=os.environ["KEY"], raise_on_unexpected_status=True
    )
    found: list[v2.Order] = []
    page = list_page.sync(client=orders, pet_id=7, status=ListOrdersStatus.PENDING, limit=50)
    for pages in range(1, 100):
        assert not isinstance(page, v2.Error) and page is not None, page
        found.extend(page.orders)
        if isinstance(page.next_cursor, UnsetV2):
            assert pages > 2, pages
            return found
        page = list_page.sync(
            client=orders, pet_id=7, status=ListOrdersStatus.PENDING, limit=50, cursor=page.next_cursor
        )
    raise AssertionError("the pages have no end")


def main() -> None:
    """Lists and cancels orders, and checks 401, 404, 409 and 429 responses."""
    orders = client("KEY")
    before = listed(orders)
    assert before[PENDING].pet_id == 7 and before[PENDING].complete is False
    ship_date = before[PENDING].ship_date
    assert not isinstance(ship_date, Unset) and ship_date.utcoffset() is not None, ship_date
    assert before[SHIPPED].ship_date is UNSET, "an absent field is UNSET, not None"

    cancelled = cancel_order.sync_detailed(PENDING, client=orders)
    assert cancelled.status_code == HTTPStatus.NO_CONTENT and cancelled.parsed is None, cancelled
    assert int(cancelled.headers["X-RateLimit-Remaining"]) > 0
    assert before.keys() - listed(orders).keys() == {PENDING}

    again = cancel_order.sync_detailed(PENDING, client=orders)
    expect_error(again, HTTPStatus.NOT_FOUND, "order_not_found")
    missing = cancel_order.sync_detailed(MISSING, client=orders)
    expect_error(missing, HTTPStatus.NOT_FOUND, "order_not_found")
    shipped = cancel_order.sync_detailed(SHIPPED, client=orders)
    expect_error(shipped, HTTPStatus.CONFLICT, "order_already_shipped")
    unauthorized = list_orders.sync_detailed(client=client("WRONG_KEY"))
    expect_error(unauthorized, HTTPStatus.UNAUTHORIZED, "unauthorized")

    limited = client("LIMITED_KEY")
    assert isinstance(list_orders.sync(client=limited), list), "the first request is admitted"
    limited_response = list_orders.sync_detailed(client=limited)
    expect_error(limited_response, HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_exceeded")
    assert 1 <= int(limited_response.headers["Retry-After"]) <= 60
    print("listed, cancelled, 401, 404, 409 and 429: all as documented")

    pending = pending_of_pet_7()
    assert all(order.pet_id == 7 and order.status == "pending" for order in pending), pending
    to_cancel = {order.id for order in pending[:60]}
    for order_id in to_cancel:
        done = cancel_order.sync_detailed(order_id, client=orders)
        assert done.status_code == HTTPStatus.NO_CONTENT, done
    left = {order.id for order in pending_of_pet_7()}
    assert {order.id for order in pending} - left == to_cancel
    print("version 2: all pages of the pending orders of a pet")


if __name__ == "__main__":
    main()
