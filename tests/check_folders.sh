#!/bin/sh
# check_folders.sh ROOT: a folder of src/ includes only itself, folders before it in this list, and vact.h. The demo is
# a robot like any other: it includes vact.h, itself and base alone.
set -eu
cd "$1/src"
find . -name '*.[ch]' | LC_ALL=C sort | xargs awk '
BEGIN {
    n = split("base file text image tensor kernels ops blocks models origin offload policy chat convert serve hub demo cli", order, " ")
    for (i = 1; i <= n; i++)
        rank[order[i]] = i
}
function complain(what)
{
    print "src/" substr(FILENAME, 3) ":" FNR ": " what
    bad = 1
}
FNR == 1 {
    files++
    split(FILENAME, part, "/")
    own = part[2]
    if (!(own in rank))
        complain("folder " own " is not in the order of tests/check_folders.sh")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    if (quoted[2] == "vact.h")
        next
    split(quoted[2], part, "/")
    if (!(part[1] in rank))
        complain("\"" quoted[2] "\" should be rooted in src/, as in \"base/error.h\"")
    else if (own == "demo" && part[1] != "demo" && part[1] != "base")
        complain("demo includes vact.h and base only, so it cannot include \"" quoted[2] "\"")
    else if (rank[part[1]] > rank[own])
        complain(own " comes before " part[1] ", so it cannot include \"" quoted[2] "\"")
}
END {
    if (files == 0) {
        print "no source files found"
        bad = 1
    }
    exit bad
}'
