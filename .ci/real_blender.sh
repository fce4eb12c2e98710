#!/bin/bash
# A real Blender of Debian's in a root of its own, on a Debian or Ubuntu machine, as root.
#
#   real_blender.sh setup SUITE ROOT        trixie brings Blender 4.3, sid 5.2 LTS; 2 minutes, 1.5 GB
#   real_blender.sh wrap ROOT FILE DIR...   write FILE: an executable that is that `blender`; it sees
#                                           the directories DIR... (and /tmp) at their own paths
#
# Every mount lives in a mount namespace of the command that needs it, so none is left behind.
set -euo pipefail

setup() {
  local suite=$1 root=$2 part=$2.part
  [ -x "$root/usr/bin/blender" ] && return
  rm -rf --one-file-system "$part"
  mkdir -p "$part"
  debootstrap --variant=minbase "$suite" "$part"
  printf '#!/bin/sh\nexit 101\n' >"$part/usr/sbin/policy-rc.d" # packages start no services
  chmod +x "$part/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$part/etc/resolv.conf"
  mountpoint -q "$part/proc" || mount -t proc proc "$part/proc"
  # python3-cattr, python3-requests: Blender 5's extension manager imports them, its package does not
  # depend on them. debootstrap has just fetched the package lists: no apt-get update.
  DEBIAN_FRONTEND=noninteractive chroot "$part" apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-unsafe-io -o Dpkg::Use-Pty=0 \
    blender python3-numpy python3-openimageio python3-zstandard python3-cattr python3-requests \
    libgl1-mesa-dri libegl1 libegl-mesa0 libgl1 libglx-mesa0
  chroot "$part" apt-get clean
  umount "$part/proc"
  mv "$part" "$root"
}

wrap() {
  local root=$1 file=$2
  shift 2
  cat >"$file" <<WRAPPER
#!/bin/bash
# Written by .ci/real_blender.sh: the blender of $root.
set -euo pipefail
if [ "\${1:-}" != --in-own-namespace ]; then
  exec unshare --mount --propagation private "\$0" --in-own-namespace "\$PWD" "\$@"
fi
root=$root here=\$2
shift 2
mount -t proc proc "\$root/proc"
mount --rbind /sys "\$root/sys"
mount --rbind /dev "\$root/dev"
for dir in /tmp $(printf '%q ' "$@"); do
  mkdir -p "\$root\$dir"
  mount --bind "\$dir" "\$root\$dir"
done
exec chroot "\$root" /usr/bin/env -u PYTHONHOME -u PYTHONPATH -u VIRTUAL_ENV \\
  -C "\$here" LC_ALL=C.UTF-8 LIBGL_ALWAYS_SOFTWARE=1 PATH=/usr/bin:/bin blender "\$@"
WRAPPER
  chmod +x "$file"
}

command=${1:-}
shift || true
case $command in
setup)
  exec unshare --mount --propagation private --pid --fork --kill-child \
    "$0" setup-in-own-namespace "$@"
  ;;
setup-in-own-namespace) setup "$@" ;;
wrap) wrap "$@" ;;
*)
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac
