#!/bin/sh
# check_symbols.sh NM LIBVACT.A LIBVACT.SO VACT.H: linkable names are ours, exported names are the header's.
set -eu
nm=$1 archive=$2 shared=$3 header=$4
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
bad=0

"$nm" -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u >"$work/archive"
if ! grep -q '^vact_' "$work/archive"; then
    echo "$archive defines nothing"
    bad=1
fi
if grep -v '^vact_' "$work/archive" >"$work/strangers"; then
    echo "names in $archive without vact_:"
    cat "$work/strangers"
    bad=1
fi

sed -n 's/^VACT_API .*[ *]\(vact_[a-z0-9_]*\)(.*/\1/p' "$header" | LC_ALL=C sort -u >"$work/declared"
# The linker marks where sections start and end.
"$nm" -D --defined-only "$shared" | awk '{ print $NF }' | grep -vxE '_init|_fini|_edata|_end|__bss_start' |
    LC_ALL=C sort -u >"$work/exported" || true
if [ "$(grep -c '^VACT_API' "$header")" != "$(wc -l <"$work/declared")" ]; then
    echo "not every VACT_API line of $header was understood"
    bad=1
fi
if ! diff "$work/declared" "$work/exported" >"$work/diff"; then
    sed -n "s/^< \(.*\)/\1 is declared but not exported/p; s/^> \(.*\)/\1 is exported but not declared/p" "$work/diff"
    bad=1
fi
exit $bad
