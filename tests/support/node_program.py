"""A program for pods of the host node's tests: an HTTP server that tells who and where it is.

``/`` answers with the pod's name, ``/crash`` ends the process with code 3, ``/slow`` answers after a while,
``/until-hook`` once somebody has asked for ``/hook``.
It needs POD_IP and POD_NAME, and ends on SIGTERM after finishing what it has.
"""

import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8000
HOOK_SECONDS = 20


hooked = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self) -> None:
        """Answer with the pod's name."""
        if self.path == "/crash":
            os._exit(3)
        if self.path == "/slow":
            time.sleep(1)
        if self.path == "/hook":
            hooked.set()
        if self.path == "/until-hook" and not hooked.wait(HOOK_SECONDS):
            os._exit(4)
        body = os.environ["POD_NAME"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until SIGTERM."""
    server = ThreadingHTTPServer((os.environ["POD_IP"], PORT), Handler)
    server.daemon_threads = False

    def stop(*_: object) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    sys.stdout.write(f"serving {sys.argv[1:]}\n")
    sys.stdout.flush()
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    main()
