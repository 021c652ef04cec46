#!/bin/sh
# unpacked.sh ROOT UID:GID [FOLDER:PATH ...] -- PROGRAM ARGS …
# Runs a program in a folder as a container engine would: a root that can only be read, some folders that can be written, no
# privileges. To be called in a mount namespace of its own, with which the mounts go.
set -eu
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
for system in dev proc; do
  mkdir -p "$root/$system"
  mount --rbind "/$system" "$root/$system"
done
while [ "$1" != -- ]; do
  path=$root${1#*:}
  mkdir -p "$path"
  mount --bind "${1%%:*}" "$path"
  shift
done
shift
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups="${user#*:}" "$root" "$@"
