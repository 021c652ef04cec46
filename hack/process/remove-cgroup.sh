#!/bin/sh
# remove-cgroup.sh NAME: removes a control group and those below it in every hierarchy, once the last process has left them.
for tries in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  left=
  for folder in "/sys/fs/cgroup/$1" /sys/fs/cgroup/*/"$1"; do
    [ -d "$folder" ] || continue
    find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null
    [ ! -d "$folder" ] || left=$folder
  done
  [ -n "$left" ] || exit 0
  sleep 0.5
done
exit 1
