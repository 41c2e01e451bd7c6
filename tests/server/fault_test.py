#!/usr/bin/env python3
"""Clients that vanish, crawl, flood or talk nonsense, and a server that is told to go."""
import json
import socket
import threading
import time
import unittest

from serving import QUESTION, Server, ServerCase, raw_request, read_all, user

CHAT = "/v1/chat/completions"
LONG = {"messages": user(QUESTION), "max_tokens": 3900, "stream": True, "ignore_eos": True, "temperature": 1}


class Clients(ServerCase):
    flags = ("--log-level", "warn", "--parallel", "16", "--queue", "80")  # and so 128 connections

    def tearDown(self):
        self.server.wait_idle()
        self.assertEqual(self.server.json("GET", "/health"), {"status": "ready"})
        self.assertEqual(self.server.chat(user("hi"), max_tokens=2)["usage"]["completion_tokens"], 2)

    def raw(self, data):
        with self.server.socket() as connection:
            connection.sendall(data)
            return read_all(connection)

    def status(self, data):
        reply = self.raw(data)
        return int(reply.split(b" ", 2)[1]) if reply else None

    def test_a_client_that_vanishes_ends_its_request_within_a_step(self):
        before = self.server.metric("spindrift_generated_tokens_total")
        connection = self.server.socket()
        connection.sendall(raw_request(CHAT, {**LONG, "n": 16}))
        self.assertIn(b"200", connection.recv(200))
        connection.close()
        self.server.wait_idle()
        self.assertLess(self.server.metric("spindrift_generated_tokens_total") - before, 16 * 3900 // 2)

    def test_a_client_that_vanishes_without_streaming_does_too(self):
        connection = self.server.socket()
        before = self.server.metric("spindrift_generated_tokens_total")
        connection.sendall(raw_request(CHAT, {**LONG, "stream": False, "n": 16}))
        while self.server.metric("spindrift_running") == 0:
            time.sleep(0.01)
        connection.close()
        self.server.wait_idle()
        self.assertLess(self.server.metric("spindrift_generated_tokens_total") - before, 16 * 3900 // 2)

    def test_a_client_that_reads_nothing_does_not_hold_up_others(self):
        slow = []
        for _ in range(8):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", self.server.port))
            connection.sendall(raw_request(CHAT, {**LONG, "logprobs": True, "top_logprobs": 20}))
            slow.append(connection)
        started = time.monotonic()
        self.server.chat(user("hi"), max_tokens=5)
        self.assertLess(time.monotonic() - started, 20)
        for connection in slow:
            connection.recv(1)  # a byte, some time
        self.server.chat(user("hi"), max_tokens=5)
        for connection in slow:
            connection.close()

    def test_half_a_head_and_half_a_body_hold_nothing_up(self):
        whole = raw_request(CHAT, {"messages": user("hi"), "max_tokens": 1})
        open_ones = []
        for cut in (1, 10, 40, len(whole) - 60, len(whole) - 1):
            connection = self.server.socket()
            connection.sendall(whole[:cut])
            open_ones.append(connection)
        self.server.chat(user("hi"), max_tokens=2)
        for connection in open_ones:
            connection.close()
        with self.server.socket() as connection:  # in two parts is fine
            connection.sendall(whole[:50])
            time.sleep(0.05)
            connection.sendall(whole[50:])
            self.assertIn(b"200 OK", read_all(connection))

    def test_nonsense_is_answered_or_closed(self):
        self.assertIn(self.status(b"nonsense\r\n\r\n"), (400, None))
        self.assertIn(self.status(b"GET / HTTP/9.9\r\n\r\n"), (400, 505, None))
        self.assertIn(self.status(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), (400, None))
        self.assertEqual(self.status(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nConnection: close\r\n\r\n"), 414)
        self.assertEqual(self.status(b"POST /tokenize HTTP/1.1\r\nConnection: close\r\n\r\n"), 411)
        self.assertEqual(self.status(b"POST /tokenize HTTP/1.1\r\nContent-Length: -5\r\nConnection: close\r\n\r\n"), 400)
        self.assertEqual(self.status(b"POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n"), 413)
        self.assertEqual(self.status(raw_request(CHAT, b'{"messages": "\xff\xfe"}')), 400)
        self.assertEqual(self.status(raw_request(CHAT, b"{" * 1000)), 400)

    def test_endless_headers_are_cut_off(self):
        with self.server.socket() as connection:
            try:
                connection.sendall(b"GET /health HTTP/1.1\r\n" + b"X-A: b\r\n" * 20000)
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.assertIn(b" 431 ", read_all(connection)[:40])

    def test_a_chunked_body_works_and_an_endless_one_is_cut_off(self):
        head = b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        body = b'{"prompt": "hi"}'
        self.assertIn(b'"tokens"', self.raw(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)))
        with self.server.socket() as connection:
            connection.sendall(head)
            block = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
            sent = 0
            try:
                for _ in range(2000):
                    connection.sendall(block)
                    sent += len(block)
            except (BrokenPipeError, ConnectionResetError, socket.timeout):
                pass
            self.assertLess(sent, 100 << 20)

    def test_a_body_of_many_megabytes_is_refused_or_read_but_never_fatal(self):
        self.assertEqual(self.status(raw_request(CHAT, b"x" * (40 << 20))[:200]), 413)
        self.assertEqual(self.status(raw_request(CHAT, {"messages": user("word " * (2 << 20))})), 400)

    def test_two_requests_in_one_packet_are_both_answered(self):
        one = raw_request("/tokenize", {"prompt": "hi"}, close=False)
        two = raw_request("/tokenize", {"prompt": "hi"})
        self.assertEqual(self.raw(one + two).count(b'"tokens"'), 2)

    def test_a_thousand_cancelled_requests_leave_no_memory_behind(self):
        body = raw_request(CHAT, LONG)

        def cancelled(count):
            batch = []
            for _ in range(count):
                connection = self.server.socket()
                connection.sendall(body)
                batch.append(connection)
                if len(batch) == 20:
                    for open_one in batch:
                        open_one.close()
                    batch = []
            for open_one in batch:
                open_one.close()
            self.server.wait_idle(60)

        cancelled(400)  # threads, arenas and caches get their size
        base = self.server.rss()
        cancelled(1000)
        self.assertLess(self.server.rss() - base, 8 << 20)
        self.assertEqual(self.server.metric("spindrift_running"), 0)


class FullQueue(unittest.TestCase):
    def test_beyond_the_queue_requests_get_429_and_a_time_to_come_back(self):
        server = Server("--parallel", "1", "--queue", "2", "--log-level", "off")
        open_ones = []
        refused = None
        for _ in range(6):
            connection = server.socket()
            connection.sendall(raw_request(CHAT, LONG))
            head = connection.recv(4096)
            open_ones.append(connection)
            if b" 429 " in head.split(b"\r\n")[0]:
                refused = head + read_all(connection)
        self.assertIsNotNone(refused)
        self.assertIn(b"Retry-After: ", refused)
        self.assertEqual(json.loads(refused.split(b"\r\n\r\n")[1])["error"]["type"], "rate_limit_error")
        for connection in open_ones:
            connection.close()
        server.wait_idle()
        self.assertEqual(server.end(), 0)

    def test_a_request_that_takes_too_long_ends_with_an_error(self):
        server = Server("--request-timeout", "1", "--log-level", "off")
        status, _, data = server.ask("POST", CHAT, {**LONG, "stream": False, "n": 16})
        self.assertEqual(status, 504, data)
        self.assertEqual(json.loads(data)["error"]["code"], "request_timeout")
        self.assertEqual(server.end(), 0)


class Leaving(unittest.TestCase):
    def test_sigterm_under_load_loses_no_accepted_request(self):
        server = Server("--parallel", "8", "--queue", "64", "--log-level", "info")
        results = []
        body = {"messages": user(QUESTION), "max_tokens": 60, "ignore_eos": True, "temperature": 1}

        def client(index):
            try:
                if index % 2:
                    reply = server.json("POST", CHAT, body)
                    results.append(reply["usage"]["completion_tokens"])
                else:
                    chunks = server.stream(CHAT, {**body, "stream_options": {"include_usage": True}})
                    results.append(chunks[-1]["usage"]["completion_tokens"])
            except Exception as error:  # counted below
                results.append(error)

        clients = [threading.Thread(target=client, args=(i,)) for i in range(40)]
        for thread in clients:
            thread.start()
        until = time.monotonic() + 30
        while server.metric("spindrift_running") + server.metric("spindrift_queue_waiting") < 20:
            if time.monotonic() > until:
                break
            time.sleep(0.005)
        server.terminate()
        server.wait_log('"event":"draining"')
        status, _, data = server.ask("GET", "/health")
        if results.count(60) < 40:  # still busy when it was asked
            self.assertEqual((status, json.loads(data)), (503, {"status": "draining"}))
        for thread in clients:
            thread.join()
        self.assertEqual(server.process.wait(30), 0)
        server.end()
        lost = [r for r in results if r != 60 and "503" not in str(r)]
        self.assertEqual(lost, [], server.log[-2000:])
        self.assertGreaterEqual(results.count(60), 20)

    def test_while_draining_new_requests_are_turned_away(self):
        server = Server("--log-level", "info")
        running = server.socket()
        running.sendall(raw_request(CHAT, LONG))
        running.recv(10)
        server.terminate()
        server.wait_log('"event":"draining"')
        status, headers, data = server.ask("POST", CHAT, {"messages": user("hi")})
        self.assertEqual(status, 503)
        self.assertIn("Retry-After", headers)
        self.assertIn(b"data: [DONE]", read_all(running))
        running.close()
        self.assertEqual(server.process.wait(30), 0)
        server.end()

    def test_a_second_signal_stops_at_once(self):
        server = Server("--log-level", "info", "--parallel", "1")
        running = server.socket()
        running.sendall(raw_request(CHAT, {**LONG, "n": 20}))
        running.recv(10)
        server.terminate()
        server.wait_log('"event":"draining"')
        server.terminate()
        started = time.monotonic()
        server.process.wait(30)
        self.assertLess(time.monotonic() - started, 10)
        running.close()
        server.end()


if __name__ == "__main__":
    unittest.main()
