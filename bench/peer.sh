#!/bin/sh
# peer.sh VLA_BENCH VACT MODEL [ROUNDS [THREADS [VIEWS]]]: whole predictions of vla.cpp and vact in turns on one file,
# as a Markdown table of medians. One warm-up and one measured prediction each, in processes of their own. bench/peer.md
set -eu
[ $# -ge 3 ] || {
    echo "usage: peer.sh VLA_BENCH VACT MODEL [ROUNDS [THREADS [VIEWS]]]" >&2
    exit 2
}
peer=$1 vact=$2 model=$3 rounds=${4:-3} threads=${5:-2} views=${6:-1 2 3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# median FILE: of a number a line
median() {
    sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# keep FILE NAME: appends the number on standard input
keep() {
    read -r ms || {
        echo "$2 printed no time: run it by hand to see why" >&2
        exit 1
    }
    echo "$ms" >>"$1"
}

[ "$rounds" -ge 1 ] || {
    echo "ROUNDS is $rounds, expected 1 or more" >&2
    exit 2
}
round=0
while [ $round -lt "$rounds" ]; do
    for n in $views; do
        VLA_N_THREADS=$threads "$peer" --ckpt "$model" --images "$n" --size 512 --tokens 16 --warmup 1 --reps 1 \
            2>"$work/err" | sed -n 's/.*: min \([0-9.]*\) ms .*/\1/p' | keep "$work/peer.$n" vla-bench
        "$vact" bench "$model" --views "$n" --threads "$threads" --reps 1 --json |
            sed -n 's/.*"min_ms":\([0-9.]*\),.*/\1/p' | keep "$work/vact.$n" vact
    done
    round=$((round + 1))
done
echo "| views | vla.cpp, wall ms | vact, wall ms | vact / vla.cpp |"
echo "|---|---|---|---|"
for n in $views; do
    paste -d ' ' "$work/peer.$n" "$work/vact.$n" | awk '{ print $2 / $1 }' >"$work/ratio.$n"
    echo "| $n | $(median "$work/peer.$n") | $(median "$work/vact.$n") | $(median "$work/ratio.$n") |"
done
