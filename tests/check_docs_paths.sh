#!/bin/sh
# check_docs_paths.sh ROOT: each path of ours that README.md and docs/ name exists. `*` may stand for a part.
set -eu
cd "$1"
bad=0
for page in README.md docs/*.md; do
    [ -e "$page" ] || continue
    # A path of another repository has a letter, "/" or ":" in front and doesn't count.
    for path in $(grep -oE '(^|[^A-Za-z0-9_./:@-])(src|tests|include|tools|docs|examples|bench|fuzz)/[A-Za-z0-9_./*-]*' "$page" |
                      sed -E 's/^[^a-z]//; s/[.]+$//' | LC_ALL=C sort -u | sed 's/\*/%/g'); do
        found=0
        for match in $(printf '%s' "$path" | sed 's/%/*/g'); do
            [ ! -e "$match" ] || found=1
        done
        if [ $found = 0 ]; then
            echo "$page: $path does not exist"
            bad=1
        fi
    done
done
exit $bad
