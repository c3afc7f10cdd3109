"""How many empty requests per second of one core does the HTTP server of `headrace serve` answer, compared
with nginx with `return 200`? h2load uses 64 keep-alive connections from the other core. Also measured with
TLS, and with answers from another thread, as with a model.

    ./dev bench serve_http --json bench/results/<date>/serve_http.json

Needs Debian's nginx-light and nghttp2-client.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import time

import measuring

SECONDS = 5
CONNECTIONS = 64
NGINX_PORT = 18_080
NGINX = """
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  default_type text/plain;
  server {{ listen 127.0.0.1:{plain}; location / {{ return 200 "ok"; }} }}
  server {{
    listen 127.0.0.1:{tls} ssl;
    ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
    location / {{ return 200 "ok"; }}
  }}
}}
"""


def make_certificate(folder: pathlib.Path) -> list[pathlib.Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=a"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-out", certificate, "-keyout", key],
        check=True,
        capture_output=True,
    )
    return [certificate, key]


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(url: str, pid: int, core: int) -> dict:
    before = cpu_seconds(pid)
    command = ["h2load", "--h1", "-c", CONNECTIONS, "-t", 1, "-D", SECONDS, url]
    output = measuring.run(command, [core]).output
    cpu_s = cpu_seconds(pid) - before
    succeeded, failed = (int(re.search(rf"(\d+) {word}", output)[1]) for word in ("succeeded", "failed"))
    assert failed == 0, output
    return {"requests": succeeded, "cpu_s": cpu_s, "wall_s": SECONDS}


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program = measuring.build("headrace_bench_serve_http")
    server_core, client_core = measuring.cores()
    pinned = ["taskset", "-c", str(server_core)]
    started, programs = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = make_certificate(folder)
        configuration = NGINX.format(folder=folder, plain=NGINX_PORT, tls=NGINX_PORT + 1)
        (folder / "nginx.conf").write_text(configuration)
        try:
            nginx = subprocess.Popen([*pinned, "nginx", "-c", folder / "nginx.conf", "-e", folder / "errors"])
            started.append(nginx)
            kinds = {"plain": ["here"], "tls": ["here", 2, *files], "elsewhere": ["elsewhere"]}
            for kind, options in kinds.items():
                command = [*pinned, program, "127.0.0.1:0", "1", *map(str, options)]
                server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                started.append(server)
                url = f"http{'s' * (kind == 'tls')}://127.0.0.1:{int(server.stdout.readline())}/"
                programs[kind] = lambda url=url, pid=server.pid: load(url, pid, client_core)
            time.sleep(0.5)
            worker = int(
                subprocess.run(["pgrep", "-P", str(nginx.pid)], capture_output=True, text=True).stdout
            )
            for place, kind in enumerate(("plain", "tls")):
                url = f"http{'s' * (kind == 'tls')}://127.0.0.1:{NGINX_PORT + place}/"
                programs[f"nginx, {kind}"] = lambda url=url: load(url, worker, client_core)
            answers, _ = measuring.take_turns(programs, arguments.repeats)
        finally:
            for process in started:
                process.terminate()
                process.wait()
    rates = {
        kind: measuring.median(one["requests"] / one["cpu_s"] for one in of_kind)
        for kind, of_kind in answers.items()
    }
    summary = {f"{kind}: requests per CPU-second": rate for kind, rate in rates.items()}
    summary["plain, over nginx (must be >= 0.6)"] = rates["plain"] / rates["nginx, plain"]
    summary["TLS, over nginx"] = rates["tls"] / rates["nginx, tls"]
    measuring.report(arguments.json, summary, answers, {})


if __name__ == "__main__":
    main()
