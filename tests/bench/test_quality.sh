#!/bin/sh
# quality from outside, on a few tables: what must be so whatever the figures are. test_quality.sh QUALITY MODEL
quality=$1 model=$2
. "$(dirname "$0")/../cli/expect.sh"
mkdir tmp
TMPDIR=$work/tmp
export TMPDIR

# figure MODE ROW KEY: the number, of plain or hard, in the document `out`
figure() {
    sed -n "/\"mode\":\"$1\"/,/\]}/s/.*{\"name\":\"$2\".*\"$3\":\([^,}]*\)[,}].*/\1/p" out
}

# is MODE ROW KEY NUMBER
is() {
    [ "$(figure "$1" "$2" "$3")" = "$4" ] || fail "$1, $2: $3 is $(figure "$1" "$2" "$3"), expected $4"
}

expect 0 "$quality" --help
prints '^usage: quality '
complains 2 'vact: option --rows: "q9" is not known, expected some of: again, f32, f16, q8_0, q4_0, q8_0_int8, q4_0_int8, reference, scalar, avx2, neon, steps5, steps2, steps1' "$quality" --rows q8_0,q9
complains 2 'vact: option --rows: f32 is there twice' "$quality" --rows f32,f32
complains 1 'vact: no.gguf: No such file or directory' "$quality" -m no.gguf
complains 1 'vact: no.gguf: No such file or directory' "$quality" -m "$model" --rows again --other no.gguf
TMPDIR=$work/no
complains 1 "vact: $work/no: cannot make a temporary folder in it: No such file or directory" "$quality" -m "$model" --rows f32
TMPDIR=$work/tmp

(ulimit -f 100 && "$quality" -m "$model" --rows f32 --episodes 1) >out 2>err && fail "wrote a checkpoint over the limit"
grep -q '^vact: .*/f32.gguf: cannot write: ' err || fail "over the limit of a file's size: $(cat err)"
"$quality" -m "$model" --rows again --episodes 1 --plain >/dev/full 2>err && fail "a full standard output went unnoticed"

cp "$model" 'a "copy"'
expect 0 "$quality" -m "$model" --rows again,f32,q8_0,q4_0 --other 'a "copy"' --episodes 10 --json
[ "$(tr -cd '{[' <out | wc -c)" = "$(tr -cd '}]' <out | wc -c)" ] || fail "brackets are open: $(cat out)"
prints '^{"seed":0,"episodes":10,"modes":\[$'
# Tables that the policy's own evaluation, in Python, solved; Wilson's interval of 10 of 10 by statsmodels 0.15.0.
is plain baseline solved 10
is plain baseline low 0.722467
is plain baseline high 1
for mode in plain hard; do
    # The same file, once more and as a copy; bf16 fits into f32 whole.
    for row in again f32 'a ?copy?'; do
        is $mode "$row" solved "$(figure $mode baseline solved)"
        is $mode "$row" rms_error 0
        is $mode "$row" max_error 0
        is $mode "$row" only_baseline 0
        is $mode "$row" only_this 0
        is $mode "$row" p 1
        is $mode "$row" more_steps 0
        is $mode "$row" change_low -0.16333  # 1.959964 / 12: Agresti and Min, of 10 pairs that agree
        is $mode "$row" change_high 0.16333
    done
    # Sixteen levels are coarser than 255; the largest is no mean.
    echo "$(figure $mode q4_0 rms_error) $(figure $mode q8_0 rms_error) $(figure $mode q4_0 max_error)" |
        awk '{ exit !($2 > 0 && $1 > 4 * $2 && $1 < 1 && $3 > 2 * $1) }' || fail "$mode: errors of q4_0 and q8_0"
done

expect 0 "$quality" -m "$model" --rows steps1 --episodes 2 --seed 400 --hard
prints '^hard: 2 tables from seed 400, at most 24 steps, 8 actions of a chunk, camera noise 64, held-out sentences$'
prints '^steps1 .* 1 denoise step$'
grep -q '^plain' out && fail "--hard measured the plain task"

# Tables that one step of denoising doesn't solve all: what changed is the difference of the two counts.
expect 0 "$quality" -m "$model" --rows steps1 --episodes 4 --seed 56 --hard --json
change=$(($(figure hard steps1 solved) - $(figure hard baseline solved)))
[ $change -lt 0 ] || fail "one step of denoising solved as many of the tables"
[ $(($(figure hard steps1 only_this) - $(figure hard steps1 only_baseline))) = $change ] || fail "tables that only one solved"
is hard steps1 change "$(awk "BEGIN { print $change / 4 }")"

# Stopped, it leaves nothing behind.
"$quality" -m "$model" --rows q4_0 --episodes 100000 >out 2>err &
sleep 1
kill -INT $!
wait $!
[ $? = 130 ] || fail "an interrupt was not what ended it"
[ ! -s out ] || fail "an interrupted run printed: $(cat out)"
[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"
finish
