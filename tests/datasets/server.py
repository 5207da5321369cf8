"""A web server on this machine that answers as told, well or badly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What to send: a body, the length to announce for it, and what to wait for at half of it."""

    body: bytes = b""
    status: int = 200
    announced: int | None = None
    at_half: threading.Event | None = None


class FileServer(ThreadingHTTPServer):
    """Answers each path with the next of its answers, and the last one ever after."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[str] = []
        self.halfway = threading.Semaphore(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, name: str, *answers: Answer) -> None:
        self.answers[f"/{name}"] = list(answers)


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        answers = self.server.answers.get(self.path, [Answer(status=404)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(answer.status)
        length = len(answer.body) if answer.announced is None else answer.announced
        self.send_header("Content-Length", str(length))
        self.end_headers()
        half = len(answer.body) // 2
        try:
            self.wfile.write(answer.body[:half])
            self.wfile.flush()
            self.server.halfway.release()
            if answer.at_half is not None:
                answer.at_half.wait(30)
            self.wfile.write(answer.body[half:])
        except ConnectionError:
            pass  # The client was killed, as one test wants.
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[FileServer]:
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
