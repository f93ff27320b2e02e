# Prints the pending orders of pet 7.
import json
import os
import sys
import time
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

query = {"petId": 7, "status": "pending"}
while True:
    request = Request(
        f"{os.environ['BASE_URL']}/store/orders?{urlencode(query)}",
        headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
    )
    try:
        with urlopen(request, timeout=60) as response:
            page = json.load(response)
    except HTTPError as error:
        wait = int(error.headers.get("Retry-After", 121))
        # A ban lasts longer, and so does a day whose requests are used up.
        if error.code != 429 or wait > 120:
            sys.exit(error.read().decode())
        time.sleep(wait)
        continue
    for order in page["orders"]:
        print(f"order {order['id']}: {order['quantity']} of pet {order['petId']}")
    # A page without orders may have one, too.
    if "nextCursor" not in page:
        break
    query["cursor"] = page["nextCursor"]
