#!/bin/sh
# gemm and threads from outside, on little: the form of their tables, with whatever rivals this machine has. That each
# rival computes the product, and each pool every tile, they check themselves. test_rivals.sh GEMM THREADS VACT
gemm=$1 threads=$2 vact=$3
peer=$(cd "$(dirname "$0")/../../bench" && pwd)/peer.sh
. "$(dirname "$0")/../cli/expect.sh"

# table ROWS COLUMNS: a Markdown table of so many rows below its head, with as many columns in each
table() {
    [ "$(grep -c '^|' out)" = $(($1 + 2)) ] || fail "not $1 rows: $(cat out)"
    grep '^|' out | awk -F '|' -v n="$2" 'NF != n + 2 { exit 1 }' || fail "not $2 columns everywhere: $(cat out)"
}

expect 0 "$gemm" --help
prints '^usage: gemm '
complains 2 'vact: option --only: "(" is not a regular expression' "$gemm" --only '('
complains 2 'vact: option --reps is "0", expected a whole number from 1 to 101' "$gemm" --reps 0
expect 0 "$gemm" --only 'vla_jepa 7x(768x7|7x1024)$|^pi0 1x' --reps 1 --threads 1
table 3 18
prints '^|policies|M|N|K|vact f32|vact bf16|vact q8_0 int8|vact q4_0 int8|OpenBLAS|BLIS|oneDNN|oneDNN packed|f32 GFLOP/s|f32 / best|f32 / packed|bf16 / f32|q8_0 / bf16|q4_0 / q8_0|$'
prints '^|pi0 state|1|1024|32|[0-9.]* ([0-9.]*)|[0-9.]* ([0-9.]*)|'
prints '^|vla_jepa action in|7|768|7|[0-9.]* ([0-9.]*)|[0-9.]* ([0-9.]*)|-|-|' # no whole block of 32
prints '^|vla_jepa action out 2|7|7|1024|'
for i in 'OpenBLAS 9' 'BLIS 10' 'oneDNN 11' 'oneDNN packed 12'; do
    name=${i% *} column=$((${i##* } + 1))
    if grep -q "^$name is skipped: ." out; then
        want='-'
    else
        want='[0-9.]* ([0-9.]*)'
    fi
    [ "$(grep '^|[pv].*|[0-9]*|[0-9]*|[0-9]*|' out | cut -d '|' -f $column | grep -c -x -e "$want")" = 3 ] ||
        fail "column of $name: $(cat out)"
done
# A shape of several policies is one row that names them all; a policy's part is found under any of their names.
expect 0 "$gemm" --only '^evo1 256x896x896$' --reps 1 --threads 1
table 1 18
prints '^|vla_adapter projector fc3, head task k v; evo1 projector fc2|256|896|896|'
prints ', medians of 1$'
expect 0 "$gemm" --only '^no such policy' --reps 1 --best
prints ', best of 1$'
table 0 18

expect 0 "$threads" --help
prints '^usage: threads '
complains 2 'vact: option --us is "5,1", expected two numbers from 1 to 1000000, the least and the most' "$threads" --us 5,1
complains 2 'vact: option --tiles is "5", expected two numbers from 1 to 100000, the least and the most' "$threads" --tiles 5
expect 0 "$threads" --jobs 3 --reps 1 --threads 2
pools=$((4 - $(grep -c 'is skipped: .' out)))
table $((2 * pools)) 6
prints '^.*, [0-9]* CPUs, 2 threads, vact .*; 3 jobs of 12 to 200 tiles of 50 to 500 us, [0-9]* tiles; medians of 1$'
for machine in quiet busy; do
    [ "$(grep -c "^| $machine | .* | [0-9.]* | [0-9.]* | [0-9.]* | [0-9.]* |$" out)" = $pools ] || fail "$machine: $(cat out)"
    prints "^| $machine | vact | .* | 1.000 |$"
done
expect 0 "$threads" --jobs 7 --reps 1 --quiet --tiles 5,5 --us 1,2
prints '; 7 jobs of 5 to 5 tiles of 1 to 2 us, 35 tiles; '
expect 0 "$threads" --jobs 1 --reps 1 --busy
table $pools 6
grep -q '^| quiet' out && fail '--busy measured the quiet machine'
for program in "$gemm --only ^$" "$threads --jobs 1 --reps 1 --quiet"; do
    $program >/dev/full 2>err && fail "a full standard output went unnoticed: $program"
done

# peer.sh, with something that talks like vla.cpp and takes as many ms as it has views, times the round squared
cat >vla-bench <<'PEER'
#!/bin/sh
echo x >>rounds.$4
r=$(wc -l <rounds.$4)
echo "vla: threads $VLA_N_THREADS"
echo "m.gguf: min $(($4 * r * r)).5 ms  p50 9.0 ms  p90 9.0 ms  vision 1.0 ms  ($4 views)"
PEER
chmod +x vla-bench
expect 0 "$vact" synth smolvla --size tiny -o m.gguf
expect 0 sh "$peer" ./vla-bench "$vact" m.gguf 3 1 '1 3'
table 2 4
prints '^| 1 | 4.5 | [0-9.]* | [0-9.e-]* |$'
prints '^| 3 | 12.5 | [0-9.]* | [0-9.e-]* |$'
expect 1 sh "$peer" false "$vact" m.gguf 1 1 1
[ "$(cat err)" = 'vla-bench printed no time: run it by hand to see why' ] || fail "a peer that fails: $(cat err)"
expect 2 sh "$peer" ./vla-bench
finish
