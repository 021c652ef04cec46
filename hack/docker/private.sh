#!/bin/sh
# Process 1 of a Docker engine of its own: in namespaces of processes, mounts and network that end with it.
# private.sh FOLDER CGROUP RUNTIME: the socket and all data are in FOLDER, containers are in cgroups below CGROUP and run by RUNTIME.
set -eu
folder=$1 cgroup=$2 runtime=$3

# A loopback, and no way out: there is no other link to the machine.
ip link set lo up

# An engine of the machine has its sockets, locks and state there.
mount -t tmpfs tmpfs /run

# What dockerd writes to /etc (a key) and containerd to /opt stays here, and the configuration of the machine's engine is not ours.
for place in etc opt; do
  mkdir -p "/run/written/$place" "/run/work/$place"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=/run/written/$place,workdir=/run/work/$place" "/$place"
done
echo '{}' > "$folder/daemon.json"

# What belongs to the whole machine can't be changed from here, and two settings look to dockerd as it would change them.
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net
for setting in root_maxkeys=1000000 root_maxbytes=25000000; do
  echo "${setting#*=}" > "/run/${setting%=*}"
  mount --bind "/run/${setting%=*}" "/proc/sys/kernel/keys/${setting%=*}"
done

# A cluster of many programs would have the share of one process where others want the processors too, and its probes would fail.
if [ -d /sys/fs/cgroup/cpu ]; then
  mkdir -p "/sys/fs/cgroup/cpu$cgroup"
  echo 8192 > "/sys/fs/cgroup/cpu$cgroup/cpu.shares"
elif mkdir -p "/sys/fs/cgroup$cgroup" && [ -f "/sys/fs/cgroup$cgroup/cpu.weight" ]; then
  echo 800 > "/sys/fs/cgroup$cgroup/cpu.weight"
fi

# Names are asked of an address for documentation, which no route leads to: the answer is a failure at once.
dockerd --config-file="$folder/daemon.json" --host="unix://$folder/docker.sock" --data-root="$folder/data" --exec-root=/run/docker --pidfile=/run/dockerd.pid \
  --exec-opt=native.cgroupdriver=cgroupfs --cgroup-parent="$cgroup" --dns=203.0.113.1 \
  --add-runtime="own=$runtime" --default-runtime=own --log-opt=max-size=10m &
wait $!
