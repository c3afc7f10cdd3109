# shellcheck shell=bash
# Functions that the scripts of all servers share. A script sets `server`, its name, defines `start FOLDER
# [OPTION]...`, which prints shell lines, and `stop FOLDER`, and sources this file.

say() { echo "$server.sh: $*" >&2; }
fail() { say "$*"; exit 1; }

# run [OPTION]... -- COMMAND...: starts the server in a folder of its own, runs the command with that
# environment, stops it, and removes the folder.
run() {
  local options=() lines status=0
  while (($#)) && [[ $1 != -- ]]; do options+=("$1"); shift; done
  (($# >= 2)) || fail "run needs a command after --"
  shift
  folder=$(mktemp -d "${TMPDIR:-/tmp}/headrace-$server.XXXXXX")
  trap 'stop "$folder"; rm -rf "$folder"' EXIT
  trap 'exit 130' INT TERM
  lines=$(start "$folder" "${options[@]}") || exit 1
  eval "$lines"
  "$@" || status=$?
  return "$status"
}
