"""One of many programs that call through several web processes: `cap_caller ADDRESSES KEY MODEL CALLS`.

It sends a call again only when it got no answer to it; it prints how many were served, and how many sendings broke.
"""

import http.client
import json
import sys
import time

PATIENCE_S = 60
HURRY_S = 0.05


def main(addresses: str, key: str, model: str, calls: str) -> None:
    """Call, one after another, each time through the next address."""
    places, broken, served = addresses.split(","), 0, set()
    body = json.dumps({"model": model, "max_tokens": 8, "messages": [{"role": "user", "content": "hi"}]})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    turn = 0
    for _ in range(int(calls)):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            turn += 1
            connection = http.client.HTTPConnection(places[turn % len(places)], timeout=PATIENCE_S)
            try:
                connection.request("POST", "/v1/chat/completions", body, headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status == 200 and json.loads(text).get("choices"):
                    served.add(answer.headers["x-kubemoot-call"])
                    break
            except (OSError, http.client.HTTPException, ValueError):
                pass
            finally:
                connection.close()
            broken += 1
            if time.monotonic() > deadline:
                sys.exit(f"gave up: {answer.status} {text[:200]!r}")
            time.sleep(HURRY_S)
    print(json.dumps({"served": len(served), "broken": broken}))


if __name__ == "__main__":
    main(*sys.argv[1:])
