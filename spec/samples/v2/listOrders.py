# Prints the pending orders of pet 7.
import json
import os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

query = {"petId": 7, "status": "pending"}
while True:
    request = Request(
        f"{os.environ['BASE_URL']}/store/orders?{urlencode(query)}",
        headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
    )
    with urlopen(request, timeout=60) as response:
        page = json.load(response)
    for order in page["orders"]:
        print(f"order {order['id']}: {order['quantity']} of pet {order['petId']}")
    # A page without orders may have one, too.
    if "nextCursor" not in page:
        break
    query["cursor"] = page["nextCursor"]
