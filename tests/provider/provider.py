#!/usr/bin/env python3
"""A job provider on loopback, independent of sondeo: it scripts answers, and counts every request that it receives.

    provider.py [--port 0] [--port-file FILE] [--log FILE]

GET /v1/jobs/ID answers by the script that the id names: answers joined by `.`, the last one repeated for ever, and
anything after `--` only there to make the id unique. Answers:

    queued running done failed cancelled expired paused partial   a state (200)
    e401 e404 e500 ...           that status, without a body
    ra503-120  ra429-3           that status, with `Retry-After`
    hang                         no answer for 60 s
    drop                         the connection is closed without an answer
    garbage                      200 and no JSON
    lies                         200 and another job's id

GET /count/ID gives how often the job was asked for. Every request is one line in the log: time, id, number, answer.
"""
import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COUNTS = {}
LOCK = threading.Lock()
LOG = None
STATES = {"queued", "running", "done", "failed", "cancelled", "expired", "paused", "partial"}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, _, job = self.path.strip("/").rpartition("/")
        if kind == "count":
            with LOCK:
                count = COUNTS.get(job, 0)
            return self.answer(200, {"count": count})
        with LOCK:
            number = COUNTS[job] = COUNTS.get(job, 0) + 1
        script = job.split("--")[0].split(".")
        step = script[min(number, len(script)) - 1]
        if LOG:
            with LOCK, open(LOG, "a", encoding="utf-8") as log:
                log.write(f"{time.time():.3f} {job} {number} {step}\n")
        self.play(job, step)

    def play(self, job, step):
        if step in STATES:
            body = {"job_id": job, "state": step}
            if step == "done":
                body["result_url"] = f"http://127.0.0.1:{self.server.server_port}/files/{job}"
            if step == "failed":
                body["error"] = "the disk is full"
            return self.answer(200, body)
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
        elif step == "garbage":
            self.raw(200, b"<html>it works</html>")
        elif step == "lies":
            self.answer(200, {"job_id": "another", "state": "done", "result_url": "http://127.0.0.1/files/x"})
        else:
            self.answer(404, None)

    def answer(self, status, body, headers=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.raw(status, data, headers)

    def raw(self, status, data, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def main():
    global LOG
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--port", type=int, default=0)
    args.add_argument("--port-file")
    args.add_argument("--log")
    args = args.parse_args()
    LOG = args.log
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Provider)
    server.daemon_threads = True
    if args.port_file:
        with open(args.port_file + ".new", "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
        import os

        os.replace(args.port_file + ".new", args.port_file)
    print(f"provider on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
