#!/bin/sh
# contained.sh SCRATCH COMMAND…: runs a command that may do anything, since its code was changed at random. It
# sees no processes and no network but its own, and can write only below SCRATCH. All that it has started ends
# with it.
set -eu

if [ "${HEADRACE_CONTAINED-}" != 1 ]; then
  user=
  [ "$(id -u)" = 0 ] || user=--map-root-user
  export HEADRACE_CONTAINED=1
  exec unshare $user --pid --fork --kill-child --mount --mount-proc --net --ipc -- "$0" "$@"
fi

scratch=$1
shift
mount --bind "$scratch" "$scratch"
findmnt -rno TARGET | while read -r place; do
  case $place in
    "$scratch" | /proc* | /sys* | /dev*) ;;
    *) mount -o remount,bind,ro "$place" ;;
  esac
done
ip link set lo up
cd "$scratch"
export TMPDIR="$scratch" TEST_TMPDIR="$scratch"
"$@"  # not as process 1, which signals do not end
