import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

request = Request(
    os.environ["BASE_URL"] + "/pets/7",
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
)
try:
    with urlopen(request, timeout=10) as response:
        print(json.load(response)["name"])
except HTTPError as error:
    sys.exit(error.read().decode())
