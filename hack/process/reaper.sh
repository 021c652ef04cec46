#!/bin/sh
# Reads "guard GROUP", "forget GROUP" and "folder PATH" lines. When its input ends, which happens however its parent ends,
# it kills the process groups that are still guarded and removes the folders.
trap '' INT TERM HUP
groups=''
while read -r verb value; do
  case $verb in
    guard) groups="$groups $value" ;;
    forget)
      kept=''
      for group in $groups; do [ "$group" = "$value" ] || kept="$kept $group"; done
      groups=$kept
      ;;
    folder) set -- "$@" "$value" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
# A process that was just killed may still be writing.
for folder in "$@"; do rm -rf -- "$folder" || { sleep 1; rm -rf -- "$folder"; }; done 2>/dev/null
exit 0
