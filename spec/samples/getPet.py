import json
import os
from urllib.request import Request, urlopen

request = Request(
    os.environ["BASE_URL"] + "/pets/7",
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
)
with urlopen(request, timeout=10) as response:
    print(json.load(response)["name"])
