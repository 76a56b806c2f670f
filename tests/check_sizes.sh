#!/bin/sh
# check_sizes.sh ROOT: a model is read in one sitting (500 lines a file), a function on one screen (80 lines).
set -eu
cd "$1"
find src -name '*.[ch]' | LC_ALL=C sort | xargs awk '
# clang-format puts a function`s braces, and no others, alone in the first column.
FNR == 1 {
    files++
    from = 0
}
FNR == 501 && FILENAME ~ /^src\/models\// {
    print FILENAME ": more than 500 lines"
    bad = 1
}
/^\{$/ {
    from = FNR
}
/^\}$/ && from {
    functions++
    if (FNR - from + 1 > 80) {
        print FILENAME ":" from ": a function of " FNR - from + 1 " lines, at most 80"
        bad = 1
    }
    from = 0
}
END {
    if (files == 0 || functions == 0) {
        print "no functions found"
        bad = 1
    }
    exit bad
}'
