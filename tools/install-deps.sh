#!/bin/sh
# install-deps.sh [COMMAND ...]: installs what building and testing need and this machine lacks, through apt-get.
# COMMANDs are more programs to have, each from the package of its name; libclang-rt-dev stands for clang's fuzzer.
set -eu

missing=
need() # PACKAGE TEST ...
{
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

links() # a compiler can come without the C library's files to link with
{
    echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null
}

includes() # HEADER
{
    echo "#include <$1>" | cc -x c -fsyntax-only -
}

fuzzes()
{
    echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long n) { return !data && n; }' |
        clang -x c - -fsanitize=fuzzer -o /dev/null
}

need gcc command -v cc
need libc6-dev links
need cmake command -v cmake
need ninja-build command -v ninja
need pkg-config command -v pkg-config
need python3 command -v python3
while read -r package sign; do
    case $sign in
    *.h) need "$package" includes "$sign" ;;
    *) need "$package" pkg-config --exists "$sign" ;;
    esac
done <"$(dirname "$0")/libraries.txt" # Debian's name and pkg-config's; a header where many systems lack the latter
for program in "$@"; do
    case $program in
    libclang-rt-dev) need "$program" fuzzes ;;
    *) need "$program" command -v "$program" ;;
    esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "vact needs these packages (Debian's names):$missing" >&2
    echo "There is no apt-get here: install them with this system's package manager, then try again." >&2
    exit 1
fi
root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "vact needs these packages:$missing" >&2
        echo "There is no sudo here: as root, run apt-get install$missing" >&2
        exit 1
    fi
    root=sudo
fi
echo "installing$missing"
$root apt-get update -qq </dev/null
# shellcheck disable=SC2086 # a list of packages
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing </dev/null
