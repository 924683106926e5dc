"""A server of chat completions on loopback: strict, unreliable, and with an account."""

import json
import random
import re
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-test-5f3a9c"
PRICE = (2.0, 8.0)  # per million tokens
FIRST = re.compile(r"First: (.*)\nSecond: (.*)")
TROUBLES = (
    "busy broken hangs malformed cut_off out_of_range wrong_number refusal half_body "
    "torn dropped"
).split()


def truth(a, b):
    """Ten times the share of words that two texts have in common."""
    a, b = set(a.lower().split()), set(b.lower().split())
    return round(10 * len(a & b) / max(1, len(a | b)), 3)


def tokens(text):
    return len(re.findall(r"\w{1,4}|[^\w\s]", text))


def usual_troubles(seed=0):
    """10 % of 429, 5 % of 500, and 1 % each of everything else."""
    rng = random.Random(seed)
    shares = [0.10, 0.05] + [0.01] * (len(TROUBLES) - 2)

    def draw(number, questions):
        return rng.choices([*TROUBLES, None], [*shares, 1 - sum(shares)])[0]

    return draw


class JudgeServer(ThreadingHTTPServer):
    """Answers like a model, or makes trouble; every answer is on its account."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, trouble=None, *, model="judge-1", most=None, score=truth):
        super().__init__(("127.0.0.1", 0), ChatHandler)
        self.trouble = trouble or (lambda number, questions: None)
        self.models = (model,) if isinstance(model, str) else model
        self.most, self.score = most, score
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.said = Counter()
        self.asked = Counter()  # pairs, in the order in which they were asked
        self.usable = Counter()  # pairs that got an answer of use
        self.input = self.output = self.number = self.inside = self.crowd = 0
        self.sizes = Counter()
        self.mistakes = []
        self.gone_on = threading.Event()
        self.gone_on.set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def money(self):
        return (PRICE[0] * self.input + PRICE[1] * self.output) / 1e6

    def __enter__(self):
        # It looks for the end so often: half a second by default.
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.gone_on.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients that have gone are no mistake."""


class ChatHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for its headers' receipt

    def log_message(self, *words):
        pass

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        with server.lock:
            server.inside += 1
            server.crowd = max(server.crowd, server.inside)
            crowded = server.most is not None and server.inside > server.most
        try:
            self.answer(server, json.loads(body), crowded=crowded)
        except (BrokenPipeError, ConnectionResetError):
            server.said["gone"] += 1
        finally:
            with server.lock:
                server.inside -= 1

    def answer(self, server, request, *, crowded):
        if self.headers.get("authorization") != f"Bearer {KEY}":
            key = self.headers.get("authorization", "nothing")
            return self.refuse(401, f"Incorrect API key provided: {key}")
        if request.get("model") not in server.models:
            return self.refuse(404, f"The model {request.get('model')} does not exist")
        mistake = self.mistake(request)
        if mistake:
            server.mistakes.append(mistake)
            return self.refuse(400, mistake)
        questions = FIRST.findall(request["messages"][1]["content"])
        schema = request["response_format"]["json_schema"]["schema"]
        if len(questions) != len(schema["required"]):
            server.mistakes.append("as many pairs as answers")
        if not server.gone_on.is_set():
            server.gone_on.wait()
            if self.has_gone():  # nobody pays for what nobody hears
                raise ConnectionResetError
        with server.lock:
            server.number += 1
            trouble = server.trouble(server.number, questions)
            trouble = "busy" if crowded else trouble
            server.said[trouble or "answered"] += 1
        return self.trouble_or_reply(server, request, questions, trouble)

    def trouble_or_reply(self, server, request, questions, trouble):
        if trouble == "busy":
            return self.refuse(429, "slow down", {"Retry-After": "0"})
        if trouble == "broken":
            return self.refuse(500, "try again")
        if trouble in ("hangs", "dropped"):
            self.close_connection = True
        if trouble == "hangs":
            return server.ended.wait(30)
        if trouble == "torn":  # before it says what it counted; nobody pays for that
            return self.send(200, b'{"object": "chat.completion", "choices": [{"ind')
        if trouble == "dropped":  # less than HTTP announced
            return self.send(200, b'{"object": "chat.completion"', announced=500)
        return self.reply(server, request, questions, trouble)

    def reply(self, server, request, questions, trouble):
        scores = {str(t): server.score(*q) for t, q in enumerate(questions, start=1)}
        refusal, finish = None, "stop"
        usable = dict(enumerate(questions))
        if trouble == "out_of_range":
            scores["1"] = 11
            del usable[0]
        if trouble == "wrong_number":
            scores.pop(str(len(scores)))
        content = json.dumps(scores)
        if trouble == "malformed":
            content = "They are rather similar: " + content
        if trouble == "cut_off":
            content, finish = content[: len(content) // 2], "length"
        if trouble == "refusal":
            content, refusal = None, "I cannot compare these."
        if trouble and trouble != "out_of_range":
            usable = {}
        schema = json.dumps(request["response_format"])
        sent = sum(tokens(m["content"]) for m in request["messages"]) + tokens(schema)
        said = tokens(content or refusal)
        with server.lock:
            server.input, server.output = server.input + sent, server.output + said
            server.asked.update(questions)
            server.usable.update(usable.values())
            server.sizes[len(questions)] += 1
        message = {"role": "assistant", "content": content, "refusal": refusal}
        usage = {"prompt_tokens": sent, "completion_tokens": said}
        body = {
            "object": "chat.completion",
            "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        }
        data = json.dumps(body).encode()
        if trouble == "half_body":  # whole for HTTP, and no JSON
            data = data[: data.index(b"choices")]
        return self.send(200, data)

    def has_gone(self):
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False

    def mistake(self, request):
        """What is wrong with a request, by the letter of the protocol."""
        known = {
            *"model messages response_format temperature max_completion_tokens".split(),
            *"seed max_tokens reasoning_effort".split(),
        }
        if set(request) - known:
            return f"unknown fields {set(request) - known}"
        if [m["role"] for m in request["messages"]] != ["system", "user"]:
            return "roles"
        form = request["response_format"]
        if form["type"] != "json_schema" or form["json_schema"]["strict"] is not True:
            return "response_format"
        schema = form["json_schema"]["schema"]
        keys = schema["required"]
        whole = schema["type"] == "object" and schema["additionalProperties"] is False
        if not whole or sorted(schema["properties"]) != sorted(keys):
            return "schema"
        return None

    def refuse(self, status, message, headers=None):
        with self.server.lock:
            self.server.said[status] += 1
        body = json.dumps({"error": {"message": message, "code": None}}).encode()
        return self.send(status, body, headers)

    def send(self, status, data, headers=None, announced=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(announced or len(data)))
        self.end_headers()
        self.wfile.write(data)
