"""Runs the unit tests of the state on a PostgreSQL of its own: postgres.py UNIT-TESTS FOLDER

pg_virtualenv makes a server and removes it. Between the tests and the server stands another one, which cuts a
connection instead of passing on the answer to a commit, once a statement on it had the word "cut".
"""

import os
import signal
import socket
import subprocess
import sys
import threading

SECONDS = 150
WANTS_ENCRYPTION = {80877103, 80877104}


def receive_startup(client):
    """The first message of a client, after its wish to encrypt was declined."""
    while True:
        data = client.recv(65536)
        if len(data) == 8 and int.from_bytes(data[4:], "big") in WANTS_ENCRYPTION:
            client.sendall(b"N")
        else:
            return data


def pass_on(client, server):
    """Passes messages on until one side ends, or the answer to a commit is to be cut."""
    state = {"armed": False, "cuts": False}

    def answers():
        try:
            while data := server.recv(65536):
                if state["cuts"]:
                    break
                client.sendall(data)
        except OSError:
            pass
        for end in (client, server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    server.sendall(receive_startup(client))
    thread = threading.Thread(target=answers, daemon=True)
    thread.start()
    try:
        while data := client.recv(65536):
            state["armed"] |= b"'cut'" in data
            state["cuts"] |= state["armed"] and b"commit" in data
            server.sendall(data)
        server.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    thread.join()
    client.close()
    server.close()


def listen(address):
    listener = socket.create_server(("localhost", 0))

    def accept():
        while True:
            client, _ = listener.accept()
            try:
                server = socket.create_connection(address)
            except OSError:
                client.close()
                continue
            threading.Thread(target=pass_on, args=(client, server), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def inside(unit):
    """Within pg_virtualenv, which says in the environment where its server is."""
    host, port = os.environ["PGHOST"], os.environ["PGPORT"]
    user, password = os.environ["PGUSER"], os.environ["PGPASSWORD"]
    database = os.environ.get("PGDATABASE", "postgres")
    os.environ["ACCORD_TEST_POSTGRES"] = f"postgresql://{user}:{password}@{host}:{port}/{database}"
    os.environ["ACCORD_TEST_POSTGRES_CUT"] = str(listen((host, int(port))))
    for name in ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"):
        os.environ.pop(name, None)
    return subprocess.run([unit, "--gtest_brief=1", "--gtest_filter=StorePostgres.*:*/postgresql"]).returncode


def main():
    if sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    unit, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    command = ["pg_virtualenv", "-t", sys.executable, os.path.abspath(__file__), "--inside", unit]
    # The server runs as a user of its own, who may not enter folders of this one.
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, env={**os.environ, "TMPDIR": "/tmp"})
    try:
        return process.wait(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the tests took more than {SECONDS} s")
        os.killpg(process.pid, signal.SIGTERM)  # pg_virtualenv removes its server then
        process.wait(timeout=4)
        return 1
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


sys.exit(main())
