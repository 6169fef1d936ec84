"""A TCP proxy between a controller and a server, which can go silent, swallow answers, reset, or be cut."""

import asyncio
import contextlib
import socket
import struct
import threading

CHUNK_BYTES = 65_536
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class TcpProxy:
    """Forwards connections to the first of these ports that answers, in a thread of its own."""

    def __init__(self, *target_ports):
        self._target_ports = target_ports
        self._loop = asyncio.new_event_loop()
        self._writers, self._tasks = set(), set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._up, self._down = self._call(self._gates())
        self.port = 0
        self.restore()

    async def _gates(self):
        gates = asyncio.Event(), asyncio.Event()
        for gate in gates:
            gate.set()
        return gates

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    # Faults.

    def silence(self):
        """Forward nothing in either direction, and keep the connections."""
        self._loop.call_soon_threadsafe(self._up.clear)
        self._loop.call_soon_threadsafe(self._down.clear)

    def swallow_answers(self):
        """Forward what the controller sends, but nothing of what the server answers."""
        self._loop.call_soon_threadsafe(self._down.clear)

    def speak(self):
        """Forward again, beginning with what has waited."""
        self._loop.call_soon_threadsafe(self._up.set)
        self._loop.call_soon_threadsafe(self._down.set)

    def reset(self):
        """Reset every connection; new ones are accepted."""
        self._call(self._reset())

    def cut(self):
        """Reset every connection and refuse new ones."""
        self._call(self._close_listener())
        self._call(self._reset())

    def restore(self):
        """Accept connections again."""
        self._call(self._listen())

    def close(self):
        """End the proxy."""
        with contextlib.suppress(Exception):
            self.cut()
            self._call(self._cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # In the loop.

    async def _listen(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=CHUNK_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close_listener(self):
        self._server.close()

    async def _reset(self):
        for writer in list(self._writers):
            sock = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            writer.transport.abort()
        self._writers.clear()

    async def _cancel(self):
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        try:
            self._writers.add(writer)
            await self._up.wait()
            there_reader, there = await self._connect()
            self._writers.add(there)
            for each in (writer, there):
                each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.gather(self._pump(reader, there, self._up), self._pump(there_reader, writer, self._down))
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(asyncio.current_task())

    async def _connect(self):
        for port in self._target_ports[:-1]:
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port, limit=CHUNK_BYTES)
        return await asyncio.open_connection("127.0.0.1", self._target_ports[-1], limit=CHUNK_BYTES)

    async def _pump(self, reader, writer, gate):
        try:
            while data := await reader.read(CHUNK_BYTES):
                await gate.wait()
                writer.write(data)
                await writer.drain()
        finally:
            self._writers.discard(writer)
            writer.close()
