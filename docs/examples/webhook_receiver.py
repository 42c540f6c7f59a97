"""Receive webhooks: verify, store once, answer; the work comes afterwards.  Needs Python 3.11 and nothing else.

Run it: WEBHOOK_SECRET=whsec_... PORT=9000 python3 webhook_receiver.py
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import sqlite3
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
PORT = int(os.environ.get("PORT", "9000"))
INBOX = os.environ.get("INBOX", "inbox.db")
TOLERANCE = 300  # seconds: what is older may be a recording


def genuine(headers, body):
    """Tell whether the body was signed with our secret, and lately.  Verify the bytes as they came, before parsing."""
    try:
        event_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
        signatures = headers["webhook-signature"].split(" ")  # two or three while a secret is rotated: one is enough
        if abs(time.time() - int(timestamp)) > TOLERANCE:
            return False
    except (AttributeError, TypeError, ValueError):
        return False
    digest = hmac.digest(KEY, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256)
    ours = b"v1," + base64.b64encode(digest)
    return any(hmac.compare_digest(one.encode(), ours) for one in signatures)


def store(event_id, body):
    """Keep an event for whoever works on it; False for one that has come before."""
    with contextlib.closing(sqlite3.connect(INBOX)) as inbox, inbox:
        inbox.execute("CREATE TABLE IF NOT EXISTS inbox (id TEXT PRIMARY KEY, body BLOB)")
        return inbox.execute("INSERT OR IGNORE INTO inbox VALUES (?, ?)", (event_id, body)).rowcount == 1


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are used again

    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        if length > 262_144:  # more than any webhook has
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(length)
        if not genuine(self.headers, body):
            return self.answer(401)
        event = json.loads(body)
        if store(event["id"], body):  # committed before it is acknowledged
            subject = event["subject"]
            print(event["type"], subject["type"], subject["id"], subject["sequence"], flush=True)
        return self.answer(204)  # also for a duplicate: it has arrived

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        """Keep requests out of the log."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
