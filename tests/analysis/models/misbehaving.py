"""An OpenAI-compatible server that behaves as badly as a test wants."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Server", "completion"]


def completion(text="1", **message):
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "served",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
    }
    return json.dumps(body).encode()


class Server(ThreadingHTTPServer):
    """Answers each question as its ``behave`` says, and remembers what it was asked.

    ``behave`` is given which question this is, in the order of their first coming, how often it
    came before, and the handler; it may return (status, headers, body), or handle the connection
    itself and return None.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, behave):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behave = behave
        self.asked = Counter()
        self.numbers = {}
        self.bodies = []
        self.keys = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request, client_address):
        pass  # clients leave in the middle on purpose


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        question = json.dumps(body["messages"], sort_keys=True)
        with server.lock:
            before = server.asked[question]
            number = server.numbers.setdefault(question, len(server.numbers))
            server.asked[question] += 1
            server.bodies.append(body)
            server.keys.append(self.headers["Authorization"])
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            response = server.behave(number, before, self)
            if response is not None:
                self.respond(*response)
        finally:
            with server.lock:
                server.at_once -= 1

    def respond(self, status, headers, body):
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def half_a_body(self):
        body = completion()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        self.close_connection = True

    def hang(self, seconds=30):
        time.sleep(seconds)

    def log_message(self, *args):
        pass
