#!/usr/bin/env python3
"""A job provider on loopback, independent of sondeo: it scripts answers, and counts every request that it receives.

    provider.py [--port 0] [--port-file FILE] [--log FILE] [--signature TEXT] [--while-stdin]

GET /v1/jobs/ID answers by the script that the id names: answers joined by `.`, the last one repeated for ever, and
anything after `--` only there to make the id unique. Answers:

    queued running done failed cancelled expired paused partial   a state (200); `done` and `partial` with a result
    nothing                      `done` without a result
    signed                       `done`, the result's address with `?signature=TEXT`
    e401 e404 e500 ...           that status, without a body
    ra503-120  ra429-3           that status, with `Retry-After`
    after1500-running            any answer, 1500 ms later
    hang                         no answer for 60 s
    drop                         the connection is closed without an answer
    half                         the connection is closed in the middle of the body
    garbage                      200 and no JSON
    lies                         200 and another job's id

A query is ignored. GET /count/ID gives how often the job was asked for. Every request is one line in the log: time, id,
number, answer, and the SHA-256 of its `Authorization`, or `-`.
"""
import argparse
import hashlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

COUNTS = {}
LOCK = threading.Lock()
ARGS = None
STATES = {"queued", "running", "done", "failed", "cancelled", "expired", "paused", "partial"}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, _, job = urlsplit(self.path).path.strip("/").rpartition("/")
        if kind == "count":
            with LOCK:
                count = COUNTS.get(job, 0)
            return self.answer(200, {"count": count})
        with LOCK:
            number = COUNTS[job] = COUNTS.get(job, 0) + 1
        script = job.split("--")[0].split(".")
        step = script[min(number, len(script)) - 1]
        if ARGS.log:
            credential = self.headers.get("Authorization")
            digest = "-" if credential is None else hashlib.sha256(credential.encode()).hexdigest()
            with LOCK, open(ARGS.log, "a", encoding="utf-8") as log:
                log.write(f"{time.time():.3f} {job} {number} {step} {digest}\n")
        self.play(job, step)

    def play(self, job, step):
        if step.startswith("after"):
            wait, _, step = step[5:].partition("-")
            time.sleep(int(wait) / 1000)
        if step in STATES:
            return self.state(job, step, "" if step in ("done", "partial") else None)
        if step == "nothing":
            return self.state(job, "done", None)
        if step == "signed":
            return self.state(job, "done", f"?signature={ARGS.signature}")
        if step.startswith("ra"):
            status, _, wait = step[2:].partition("-")
            return self.answer(int(status), None, {"Retry-After": wait})
        if step.startswith("e") and step[1:].isdigit():
            return self.answer(int(step[1:]), None)
        if step == "hang":
            time.sleep(60)
            self.close_connection = True
        elif step == "drop":
            self.close_connection = True
        elif step == "half":
            self.raw(200, b'{"job_id": "', length=100)
            self.close_connection = True
        elif step == "garbage":
            self.raw(200, b"<html>it works</html>")
        elif step == "lies":
            self.answer(200, {"job_id": "another", "state": "done", "result_url": "http://127.0.0.1/files/x"})
        else:
            self.answer(404, None)

    def state(self, job, state, query):
        body = {"job_id": job, "state": state}
        if query is not None:
            body["result_url"] = f"http://127.0.0.1:{self.server.server_port}/files/{job}{query}"
        if state == "failed":
            body["error"] = "the disk is full"
        self.answer(200, body)

    def answer(self, status, body, headers=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.raw(status, data, headers)

    def raw(self, status, data, headers=None, length=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        try:
            self.wfile.write(data)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that goes away in the middle is no news here."""


def until_stdin_ends():
    while sys.stdin.buffer.read(1024):
        pass
    os._exit(0)


def main():
    global ARGS
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--port", type=int, default=0)
    args.add_argument("--port-file")
    args.add_argument("--log")
    args.add_argument("--signature", default="x")
    args.add_argument("--while-stdin", action="store_true", help="stop when standard input ends")
    ARGS = args.parse_args()
    server = Server(("127.0.0.1", ARGS.port), Provider)
    if ARGS.while_stdin:
        threading.Thread(target=until_stdin_ends, daemon=True).start()
    if ARGS.port_file:
        with open(ARGS.port_file + ".new", "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
        os.replace(ARGS.port_file + ".new", ARGS.port_file)
    print(f"provider on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
