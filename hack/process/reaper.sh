#!/bin/sh
# Reads "guard GROUP", "forget GROUP", "folder PATH" and "cgroup NAME" lines. When its input ends, which happens however its parent
# ends, it kills the process groups that are still guarded and removes the folders and, in every hierarchy, the control groups.
trap '' INT TERM HUP
groups=''
cgroups=''
while read -r verb value; do
  case $verb in
    guard) groups="$groups $value" ;;
    forget)
      kept=''
      for group in $groups; do [ "$group" = "$value" ] || kept="$kept $group"; done
      groups=$kept
      ;;
    folder) set -- "$@" "$value" ;;
    cgroup) cgroups="$cgroups $value" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
# A process that was just killed may still be writing.
for folder in "$@"; do rm -rf -- "$folder" || { sleep 1; rm -rf -- "$folder"; }; done 2>/dev/null
for cgroup in $cgroups; do sh "${0%/*}/remove-cgroup.sh" "$cgroup"; done
exit 0
