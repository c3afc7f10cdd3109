#!/usr/bin/env bash
# A real Versity S3 Gateway on 127.0.0.1, for tests: versitygw.sh start|stop|run|binary, as s3_server.sh says.
# Its data are plain files of a file system that knows extended attributes.
set -euo pipefail

readonly server=versitygw
readonly version=v1.8.0
readonly module=github.com/versity/versitygw/cmd/versitygw@$version
readonly health_path=/health

serve() {
  local dir=$1 port=$2 secret=$3 certificates=${4:-}
  mkdir -p "$dir/users"
  # In a session of its own: an interrupt at the terminal is for the command that uses the server.
  ROOT_ACCESS_KEY=headrace-test ROOT_SECRET_KEY=$secret exec setsid "$program" --quiet --keep-alive \
    --port "127.0.0.1:$port" --region us-east-1 --health "$health_path" --iam-dir "$dir/users" \
    ${certificates:+--cert "$certificates/public.crt" --key "$certificates/private.key"} posix "$dir/data"
}

# shellcheck source=tools/servers/s3_server.sh
source "$(dirname "${BASH_SOURCE[0]}")/s3_server.sh"
main "$@"
