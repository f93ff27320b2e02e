import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

request = Request(
    os.environ["BASE_URL"] + "/store/orders/1042",
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
)
try:
    with urlopen(request, timeout=10) as response:
        order = json.load(response)
except HTTPError as error:
    sys.exit(error.read().decode())
print(f"order {order['id']}: {order['status']} {order.get('cancelledAt', '')}")
