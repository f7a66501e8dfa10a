#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the emulated machine: runs each file of /jobs, sends what it wrote through the
# second serial port, and switches the machine off. The kernel keeps the first port to itself.
export PATH=/usr/bin HOME=/root

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
hostname numa
ip link set lo up

# Processes in this control group get memory of node 0 only.
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/node0
echo 0 >/sys/fs/cgroup/node0/cpuset.mems

stty -F /dev/ttyS1 raw
exec 3>/dev/ttyS1
echo "@@sobor up" >&3

part() {
    echo "@@sobor $1"
    cat "$2"
    echo
}

for job in /jobs/*; do
    name=${job##*/}
    begun=$(cut -d ' ' -f 1 /proc/uptime)
    timeout -k 5 "$SECONDS_MOST" sh "$job" >/tmp/out 2>/tmp/err </dev/null
    status=$?
    ended=$(cut -d ' ' -f 1 /proc/uptime)
    part "$name stdout" /tmp/out >&3
    part "$name stderr" /tmp/err >&3
    echo "@@sobor $name end $status $begun $ended" >&3
done
poweroff -f
