import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

request = Request(
    os.environ["BASE_URL"] + "/store/orders",
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
)
try:
    with urlopen(request, timeout=60) as response:
        orders = json.load(response)
except HTTPError as error:
    sys.exit(error.read().decode())
for order in orders:
    print(f"order {order['id']}: {order['quantity']} of pet {order['petId']}")
