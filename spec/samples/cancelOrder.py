# Cancels the orders whose ids are arguments: python3 cancel.py 1042 1043
import json
import os
import sys
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def send(order_id):
    """The status, the headers and the body of the response; no status if none came."""
    request = Request(
        f"{os.environ['BASE_URL']}/store/orders/{order_id}",
        headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
        method="DELETE",
    )
    try:
        try:
            with urlopen(request, timeout=10) as response:
                return response.status, response.headers, ""
        except HTTPError as error:
            return error.code, error.headers, error.read().decode()
    except (OSError, HTTPException) as error:
        # The order may have been cancelled nevertheless.
        return None, {}, str(error)


def cancel(order_id):
    for attempt in range(1, 6):
        status, headers, body = send(order_id)
        if status == 204:
            return "cancelled"
        if status == 409 or (status == 404 and '"order_not_found"' in body):
            # 404: it is not there any more. An earlier attempt may have cancelled it.
            return json.loads(body)["message"]
        wait = int(headers.get("Retry-After", 2**attempt))
        # A ban lasts longer, and so does a day whose requests are used up.
        if status not in (None, 429, 500, 502, 503, 504) or wait > 120:
            break
        if attempt < 5:
            time.sleep(wait)
    sys.exit(f"order {order_id}: {body}")


for order_id in sys.argv[1:]:
    print(f"order {order_id}: {cancel(order_id)}")
