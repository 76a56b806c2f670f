#!/bin/sh
# install-aarch64.sh: what building for aarch64 and running the result here need. The compiler and the emulator are
# installed through apt-get; libraries.txt and what it depends on, as packages for arm64, are unpacked in
# build/sysroot-aarch64, which touches nothing of this system. Does nothing where all that is there.
set -eu
cd "$(dirname "$0")/.."
sysroot=$PWD/build/sysroot-aarch64
sh tools/install-deps.sh
command -v aarch64-linux-gnu-gcc >/dev/null || sh tools/install-deps.sh gcc-aarch64-linux-gnu
command -v qemu-aarch64 >/dev/null || sh tools/install-deps.sh qemu-user
! cmp -s tools/libraries.txt "$sysroot/libraries.txt" || exit 0

apt=$PWD/build/apt-aarch64
rm -rf "$sysroot" "$apt"
mkdir -p "$sysroot" "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status" # nothing is installed, so dependencies count as well

# apt-get for arm64, in folders of its own.
foreign() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Debug::NoLocking=1 \
        -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" "$@" </dev/null
}
echo "unpacking libraries for aarch64 in $sysroot"
foreign update
# shellcheck disable=SC2046 # a list of packages
foreign install -y --download-only --no-install-recommends $(cut -d ' ' -f 1 tools/libraries.txt)
for package in "$apt"/archives/*.deb; do
    dpkg -x "$package" "$sysroot"
done
[ -e "$sysroot/lib" ] || ln -s usr/lib "$sysroot/lib"
find "$sysroot" -type l -lname '/*' | while read -r link; do # a compiler would look for them outside
    ln -sfr "$sysroot$(readlink "$link")" "$link"
done
rm -rf "$apt"
cp tools/libraries.txt "$sysroot" # the last step: it is complete
