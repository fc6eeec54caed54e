"""Servers of the tests' own on loopback. The kernel chooses each port, so none is taken meanwhile by another."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

from waiting import wait_for


@contextmanager
def serve_registry(folder: Path) -> Iterator[str]:
    """``127.0.0.1:PORT`` of Debian's docker-registry, which keeps its files below ``folder``, until the block ends."""
    config, log = folder / "config.yml", folder / "log"
    config.write_text(
        f"version: 0.1\nlog: {{level: info}}\nstorage:\n  filesystem: {{rootdirectory: {folder}/data}}\n"
        "  delete: {enabled: true}\nhttp: {addr: '127.0.0.1:0'}\n"
    )
    with log.open("wb") as told, subprocess.Popen(["docker-registry", "serve", str(config)], stderr=told) as process:
        try:

            def address() -> re.Match[str] | None:
                assert process.poll() is None, log.read_text()
                return re.search(r"listening on (127\.0\.0\.1:\d+)", log.read_text())

            wait_for(address, what="the registry")
            found = address()
            assert found
            yield found[1]
        finally:
            process.terminate()


@contextmanager
def serve_git(root: Path) -> Iterator[int]:
    """Port at which the repositories below ``root`` are served by ``git://``, until the block ends."""
    argv = ["git", "daemon", "--inetd", "--export-all", f"--base-path={root}", str(root)]

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            subprocess.run(argv, stdin=self.request, stdout=self.request, stderr=subprocess.DEVNULL, check=False)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()
