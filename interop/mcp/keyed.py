"""A service's `/mcp` for programs that cannot be given a key: a door on loopback that adds one."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from service.running import HOST, Running

_HOP = {"connection", "transfer-encoding", "content-length", "date", "server"}


@contextmanager
def keyed(service: Running, key: str) -> Iterator[str]:
    """The URL of a door to the service's `/mcp`. What comes goes through as it is, the host's name too, and
    so do the answers.
    """

    class Door(BaseHTTPRequestHandler):
        """Passes requests on."""

        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            onward = http.client.HTTPConnection(HOST, service.port, timeout=60)
            onward.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP:
                    onward.putheader(name, value)
            onward.putheader("authorization", f"Bearer {key}")
            onward.putheader("content-length", str(len(body)))
            onward.endheaders(body)
            answer = onward.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            onward.close()

        do_GET = do_POST = do_DELETE = do_OPTIONS = _pass

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    door = ThreadingHTTPServer((HOST, 0), Door)
    thread = threading.Thread(target=door.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{door.server_address[1]}/mcp"
    finally:
        door.shutdown()
        door.server_close()
        thread.join()
