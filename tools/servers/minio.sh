#!/usr/bin/env bash
# A real MinIO on 127.0.0.1, for tests and demonstrations: minio.sh start|stop|run|binary, as s3_server.sh
# says.
set -euo pipefail

readonly server=minio
readonly version=7aac2a2c5b7c
readonly module=github.com/minio/minio@v0.0.0-20260212201848-$version
readonly health_path=/minio/health/ready

serve() {
  local dir=$1 port=$2 secret=$3 certificates=${4:-}
  # In a session of its own: an interrupt at the terminal is for the command that uses the server.
  MINIO_ROOT_USER=headrace-test MINIO_ROOT_PASSWORD=$secret MINIO_BROWSER=off MINIO_UPDATE=off \
    MINIO_CALLHOME_ENABLE=off exec setsid "$program" server --quiet --address "127.0.0.1:$port" \
    ${certificates:+--certs-dir "$certificates"} "$dir/data"
}

# shellcheck source=tools/servers/s3_server.sh
source "$(dirname "${BASH_SOURCE[0]}")/s3_server.sh"
main "$@"
