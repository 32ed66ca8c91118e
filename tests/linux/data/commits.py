"""commits.py sqlite|postgres DIRECTORY commit|check: says `found CLIENT LAST` of what is there, where nothing before LAST may be missing;
then commits one row after the other, and says `acknowledged CLIENT NUMBER` of each."""
import os, pathlib, sqlite3, subprocess, sys, threading

program, directory, goes_on = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] == "commit"
out_lock = threading.Lock()


def say(text):
    with out_lock:
        os.write(1, text.encode() + b"\n")


def text_of(number):
    return f"{number} " * (1 + number % 300)


def run_sqlite():
    path = directory / "base.db"
    base = sqlite3.connect(path, isolation_level=None)
    # In turns, the two ways in which SQLite keeps a commit.
    rounds = directory / "rounds"
    number = int(rounds.read_text()) + 1 if rounds.exists() and rounds.read_text() else 0
    rounds.write_text(str(number))
    base.execute(f"PRAGMA journal_mode={'WAL' if number % 2 else 'DELETE'}")
    base.execute("PRAGMA synchronous=EXTRA")
    base.execute("CREATE TABLE IF NOT EXISTS commits (number INTEGER PRIMARY KEY, text TEXT)")
    whole = base.execute("PRAGMA integrity_check").fetchone()[0]
    rows = base.execute("SELECT number, text FROM commits ORDER BY number").fetchall()
    if whole != "ok" or rows != [(n, text_of(n)) for n in range(len(rows))]:
        sys.exit(f"damaged: {whole}, {len(rows)} rows")
    say(f"found 0 {len(rows) - 1}")
    number = len(rows)
    while goes_on:
        base.execute("INSERT INTO commits VALUES (?, ?)", (number, text_of(number)))
        say(f"acknowledged 0 {number}")
        number += 1


def run_postgres():
    programs = "/usr/lib/postgresql/15/bin"
    data, clients = directory / "data", 4

    def as_user(*command, **how):
        return subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", "LC_ALL=C", *command],
                              cwd="/", check=True, **how)

    def session(**how):
        return subprocess.Popen(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "stdbuf", "-oL", f"{programs}/psql",
                                 "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(directory), "postgres"], cwd="/",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)

    quiet = {"stdout": subprocess.DEVNULL}
    os.chmod(directory, 0o777)
    if not (directory / "made").exists():
        as_user("rm", "-rf", str(data))
        as_user(f"{programs}/initdb", "-D", str(data), "-A", "trust", **quiet)
        (directory / "made").touch()
        os.sync()
    as_user("rm", "-f", str(data / "postmaster.pid"))
    as_user(f"{programs}/pg_ctl", "-D", str(data), "-l", str(data / "log"), "-w", "-t", "300", "-o",
            f"-c listen_addresses= -c unix_socket_directories={directory} -c shared_buffers=16MB", "start", **quiet)
    with session() as first:
        text, _ = first.communicate("SET client_min_messages = error;\n"
                                    "CREATE TABLE IF NOT EXISTS commits (client int, number int, text text, PRIMARY KEY (client, number));\n"
                                    "SELECT client, count(*), max(number) FROM commits GROUP BY client;\n")
    if first.returncode != 0:
        sys.exit("postgres answers no question")
    found = {client: -1 for client in range(clients)}
    for line in text.split():
        client, count, last = map(int, line.split("|"))
        if count != last + 1:
            sys.exit(f"client {client}: {count} rows, the last is {last}")
        found[client] = last
    for client, last in found.items():
        say(f"found {client} {last}")

    def commit(client):
        number = found[client]
        with session() as end:
            while True:
                number += 1
                end.stdin.write(f"INSERT INTO commits VALUES ({client}, {number}, '{text_of(number)}');\n\\echo done {number}\n")
                end.stdin.flush()
                if end.stdout.readline() != f"done {number}\n":
                    sys.exit(f"client {client} failed")
                say(f"acknowledged {client} {number}")

    if goes_on:
        for client in range(clients):
            threading.Thread(target=commit, args=(client,)).start()
    else:
        as_user(f"{programs}/pg_ctl", "-D", str(data), "-w", "stop", **quiet)


{"sqlite": run_sqlite, "postgres": run_postgres}[program]()
