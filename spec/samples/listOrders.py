import json
import os
from urllib.request import Request, urlopen

request = Request(
    os.environ["BASE_URL"] + "/store/orders",
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
)
with urlopen(request, timeout=60) as response:
    for order in json.load(response):
        print(f"order {order['id']}: {order['quantity']} of pet {order['petId']}")
