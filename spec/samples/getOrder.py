import json
import os
from urllib.request import Request, urlopen

request = Request(
    os.environ["BASE_URL"] + "/store/orders/1042",
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
)
with urlopen(request, timeout=10) as response:
    order = json.load(response)
print(f"order {order['id']}: {order['status']} {order.get('cancelledAt', '')}")
