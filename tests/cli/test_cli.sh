#!/bin/sh
# The command from outside: exit codes, what goes to which stream, one line per complaint. test_cli.sh VACT REQUEST EXAMPLE DATA
vact=$1 request=$2 example=$3 data=$4
. "$(dirname "$0")/expect.sh"

# ---- help ----
expect 0 "$vact" --version
prints '^vact [0-9]'
expect 0 "$vact" --help
prints '^    run '
for command in demo run bench inspect synth quantize merge diff tokenize; do
    expect 0 "$vact" $command --help
    prints "^usage: vact $command"
    expect 0 "$vact" help $command
    prints "^usage: vact $command"
done
expect 2 "$vact"
complains 2 "vact: 'rnu' is not a vact command, did you mean 'run'?" "$vact" rnu
complains 2 "vact: 'a?b' is not a vact command, see 'vact --help'" "$vact" "$(printf 'a\tb')"
complains 2 'vact: unknown option --requets, did you mean --request?' "$vact" run m.gguf --requets x
complains 2 'vact: option --threads is "x", expected a whole number from 0 to 1024' "$vact" run m.gguf --threads x
complains 2 'vact: option --request needs an argument' "$vact" run m.gguf --request
complains 2 'vact: unexpected argument "b"' "$vact" inspect a b
complains 2 'vact: the model is missing' "$vact" run
complains 2 'vact: --request <file> or --image <file> is missing' "$vact" run m.gguf

# ---- synth ----
expect 0 "$vact" synth smolvla --size tiny -o m.gguf
complains 2 'vact: size "huge" is not known, expected one of: tiny, full' "$vact" synth smolvla --size huge -o x.gguf
complains 2 'vact: architecture "smolvlo" is not known, expected one of: smolvla, pi0, pi05' "$vact" synth smolvlo -o x.gguf
complains 1 'vact: no/such/x.gguf: cannot create a temporary file beside it: No such file or directory' "$vact" synth smolvla -o no/such/x.gguf
complains 1 'vact: the path of the file to write is empty' "$vact" synth smolvla -o ''
complains 1 'vact: .: is a directory, expected a file' "$vact" synth smolvla -o .
[ "$(ls)" = "$(printf 'err\nm.gguf\nout')" ] || fail "synth left something behind: $(ls)"

# ---- run ----
expect 0 "$vact" run m.gguf --request "$request"
prints '^ row   action 0   action 1'
prints 'ms: vision .*prefix .*denoise'
expect 0 "$vact" run m.gguf --request "$request" --json
prints '"actions":\[\[.*"timing_ms":{"total":'
cp out reply.json
expect 0 "$vact" run m.gguf --request "$request" --expect reply.json --tol 0
prints 'largest difference 0.000e+00'
expect 0 "$vact" run m.gguf --request "$request" --expect reply.json --tol 1e-5 --reference
expect 1 "$vact" run m.gguf --request "$request" --expect reply.json --tol 1e-6 --denoise-steps 3
prints 'too far'
expect 0 "$vact" run m.gguf --request "$request" --verbose
grep -q 'memory: file 1.8 MB, planned .* MB, peak resident' err || fail "no memory line: $(cat err)"
grep -q 'isa' err || fail "no line on the device: $(cat err)"
expect 0 "$vact" run m.gguf --request "$request" --expect reply.json --tol 0 --act f32
[ ! -s err ] || fail "a line on stderr: $(cat err)"
expect 0 "$vact" run m.gguf --request "$request" --expect reply.json --tol 0 --act int8
[ "$(cat err)" = 'vact: warning: int8 activations change nothing: m.gguf has no Q8_0 or Q4_0 matrix that they apply to' ] ||
    fail "int8 activations without a matrix for them: $(cat err)"
"$vact" run m.gguf --request - --json <"$request" >out 2>err || fail "standard input: $(cat err)"
expect 0 "$vact" run m.gguf --request "$request" --tokens 5,6,7 --state 0,0,0,0,0 --seed 3 --json
prints '"seed":3'

run() {
    code=$1 text=$2
    shift 2
    complains "$code" "vact: $text" "$vact" run m.gguf --request "$request" "$@"
}
run 2 'option --act is "int4", expected one of f32|int8' --act int4
run 2 'option --act is "", expected one of f32|int8' --act ''
run 1 'activations is int8, expected f32: the reference computes in double precision' --act int8 --reference
run 1 'tokens[0] is 49280, expected 0 to 49279' --tokens 49280
run 1 'state[2] is nan, expected a finite number' --state 0,0,nan,0,0
run 1 'state[1] is -inf, expected a finite number' --state 0,-inf,0,0,0
run 1 'state[4] is inf, expected a finite number' --state 0,0,0,0,1e39
run 1 "state[5] is 1, expected 0 beyond the policy's 5 values" --state 0,0,0,0,0,1
run 2 'option --tokens: item 2 of "1,x" is not a whole number' --tokens 1,x
run 1 'no.json: No such file or directory' --expect no.json
complains 1 'vact: no.json: No such file or directory' "$vact" run m.gguf --request no.json
complains 1 'vact: no.gguf: No such file or directory' "$vact" run no.gguf --request "$request"
sed 's/"width":32/"width":0/' "$request" >off.json
complains 1 'vact: off.json: field images[0].width is 0, expected 1 to 16384' "$vact" run m.gguf --request off.json
sed 's/"tokens"/"token"/' "$request" >typo.json
complains 1 'vact: typo.json: unknown field token, did you mean tokens?' "$vact" run m.gguf --request typo.json
head -c 1000000 m.gguf >cut.gguf
expect 1 "$vact" run cut.gguf --request "$request"
[ "$(wc -l <err)" = 1 ] || fail "a truncated file: $(cat err)"

sed 's/"tokens"/"trace":["prefix.*.k","vision.out"],"tokens"/' "$request" >traced.json
expect 0 "$vact" run m.gguf --request traced.json --json
prints '"traces":{"vision.out":\[\[.*"prefix.0.k":\[\[.*"prefix.3.k":\[\['
complains 1 'vact: the document asks for traces, which only --json prints' "$vact" run m.gguf --request traced.json
sed 's/vision.out/vision.in/' traced.json >untraced.json
complains 1 'vact: no intermediate matches the trace pattern "vision.in"' \
    "$vact" run m.gguf --request untraced.json --json
sed 's/"tokens"/"state_units":"model","tokens"/' "$request" >model.json
expect 0 "$vact" run m.gguf --request "$request" --state 0.1,0.2,0.3,0.4,0.5 --json
cp out real.json
expect 0 "$vact" run m.gguf --request model.json --state 0.1,0.2,0.3,0.4,0.5 --expect real.json --tol 0

# ---- pictures and a sentence ----
pictures=$data/pictures tokenizer=$data/tokenizers/smollm2.tokenizer.json
look() { # PICTURE ...: one chunk for pictures and a sentence
    images=
    for picture in "$@"; do
        images="$images --image $picture"
    done
    expect 0 "$vact" run m.gguf --tokenizer "$tokenizer" $images --text 'pick up the bowl' --seed 3 --json
}
look "$pictures/exif_II_6.jpg"
cp out turned.json
look "$pictures/exif_6_upright.png" # the same photo, turned upright by other means
"$vact" run m.gguf --tokenizer "$tokenizer" --image "$pictures/exif_6_upright.png" --text 'pick up the bowl' \
    --seed 3 --expect turned.json --tol 0 >out 2>err || fail "an EXIF orientation makes a difference: $(cat out err)"
look "$pictures/exif_II_1.jpg"
"$vact" run m.gguf --tokenizer "$tokenizer" --image "$pictures/exif_II_1.jpg" --text 'pick up the bowl' \
    --seed 3 --expect turned.json --tol 0 >out 2>err && fail "an EXIF orientation makes no difference"
look "$pictures/grey_8.png" "$pictures/cmyk.jpg" "$pictures/progressive_420.jpg"
prints '"devices":\["cpu","cpu","cpu"\]'
mkdir -p documents
cp "$pictures/exif_II_6.jpg" documents/photo.jpg
echo '{"images":[{"path":"photo.jpg"}],"text":"pick up the bowl","seed":3}' >documents/request.json
expect 0 "$vact" run m.gguf --tokenizer "$tokenizer" --request documents/request.json --expect turned.json --tol 0
"$vact" run m.gguf --tokenizer "$tokenizer" --request - <documents/request.json >out 2>err
[ "$(cat err)" = 'vact: photo.jpg: No such file or directory' ] || fail "a path from standard input: $(cat err)"
expect 0 "$vact" run m.gguf --tokenizer "$tokenizer" --request documents/request.json --image documents/photo.jpg \
    --expect turned.json --tol 0
see() {
    code=$1 text=$2
    shift 2
    complains "$code" "vact: $text" "$vact" run m.gguf --image documents/photo.jpg "$@"
}
see 1 'the request has text, but this policy came without a tokenizer: expected tokens, or a tokenizer in the file or the settings' --text x
see 1 'the request has 0 tokens, expected 1 to 12'
see 2 '--text and --tokens are both given, expected one of them' --text x --tokens 1
see 1 'no.json: No such file or directory' --text x --tokenizer no.json
see 1 "image 1 is of camera \"wrist\", but the policy's file names no cameras" --tokens 1 --image wrist=documents/photo.jpg
see 1 './x=y/z.png: No such file or directory' --tokens 1 --image ./x=y/z.png

# ---- the example in C ----
expect 0 "$example" m.gguf "$tokenizer" "$pictures/exif_II_6.jpg" 'pick up the bowl'
[ "$(wc -w <out)" = 6 ] || fail "the example printed: $(cat out)"
complains 1 'no.gguf: No such file or directory' "$example" no.gguf "$tokenizer" x.png ''
complains 1 'x.png: No such file or directory' "$example" m.gguf "$tokenizer" x.png ''

# ---- output that can't be written, input that can't be taken ----
for command in "run m.gguf --request $request --json" "inspect m.gguf" "bench m.gguf --reps 1" --help; do
    "$vact" $command >/dev/full 2>err
    [ $? = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "a full device: $command: $(cat err)"
done
complains 1 'vact: a?b: No such file or directory' "$vact" run m.gguf --request "$(printf 'a\nb')"
long=$(printf '%0400d' 0)
complains 1 "vact: $(printf '%0200d' 0): File name too long" "$vact" inspect "$long"
expect 0 "$vact" run m.gguf --request "$request" --state -0.0,1e-41,-1e-320,0,0
expect 2 "$vact" run m.gguf --request "$request" --tol nan
sed 's/"state":\[[^],]*/"state":[1e999/' "$request" >huge.json
expect 1 "$vact" run m.gguf --request huge.json
grep -q 'huge.json: not JSON at line 1, column .*: real number overflow' err || fail "1e999: $(cat err)"
run 1 'state[0] is 1e+30, expected -1e+09 to 1e+09' --state 1e30,0,0,0,0
sed 's/"format"/"name":"front","format"/' "$request" >named.json
complains 1 "vact: image 0 is of camera \"front\", but the policy's file names no cameras" \
    "$vact" run m.gguf --request named.json
sed 's/"format"/"prepared":true,"format"/' "$request" >prepared.json
expect 0 "$vact" run m.gguf --request prepared.json --expect reply.json --tol 0
sed 's/"images":\[.*\],"tokens"/"tokens"/' "$request" >blind.json
complains 1 'vact: the request has 0 camera views, expected 1 to 3' "$vact" run m.gguf --request blind.json
complains 2 'vact: unknown option -x' "$vact" run m.gguf --request "$request" -xv

# ---- inspect ----
expect 0 "$vact" inspect m.gguf
prints '^    smolvla.hidden  *u32  *16$'
prints '^    vit.patch_embd.weight  *f32  *\[32, 3, 8, 8\]$'
prints '^    none$'
prints '^smolvla: 878494 parameters'
for views in 1 2 3; do
    prints "^$views  *0\.00[0-9]  *0\.00[0-9]  *0\.00[0-9]  *0\.0[0-9]*  *[0-9.]*$"
done
expect 1 "$vact" inspect cut.gguf
sed 's/vit\.pos_embd/vit.pos_embe/; s/mm\.fc\.weight/mm.fc.weighs/' m.gguf >wrong.gguf
expect 1 "$vact" inspect wrong.gguf
prints 'wrong.gguf: tensor vit.pos_embd is missing, expected \[16, 32\]$'
prints 'wrong.gguf: tensor mm.fc.weight is missing, expected \[16, 128\]$'
complains 1 'vact: wrong.gguf: tensor vit.pos_embd is missing, expected [16, 32] (and 1 more; vact inspect lists them)' \
    "$vact" run wrong.gguf --request "$request"

sed 's/smolvla\.n_layers/smolvla.n_lawers/' m.gguf >keys.gguf
expect 1 "$vact" inspect keys.gguf
prints 'keys.gguf: key smolvla.n_layers is missing, expected a u32$'
LC_ALL=C sed 's/\(smolvla\.n_layers\x04\x00\x00\x00\)\x04/\1\x03/' m.gguf >three.gguf
expect 0 "$vact" inspect three.gguf
prints '^    (vlm.blk.3.attn_k.weight is not read)$'

# ---- tokenize, and giving a checkpoint a tokenizer ----
small=$data/cli_tokenizer.json

# tokenizes TEXT IDS COMMAND ...: the printed ids of that text
tokenizes() {
    text=$1 ids=$2
    shift 2
    printf "$text" | "$vact" tokenize "$@" >out 2>err || fail "tokenize: $(cat err)"
    [ "$(cat out)" = "$ids" ] || fail "tokenize $*: \"$text\" gave $(cat out), expected $ids"
}

# The ids are those of Hugging Face's tokenizers 0.23 for the same file.
check_ids() {
    tokenizes 'pick up the red cube 42\n' '0 278 286 259 269 270 221 20 18 199' "$@"
    tokenizes 'the' '{"tokens":[258]}' "$@" --no-special --json
    tokenizes '' '0' "$@"
    tokenizes '' '{"tokens":[]}' "$@" --no-special --json
    tokenizes 'Gr\303\274\303\237e <|begin|> \t\n\n' '0 39 82 128 121 128 254 69 221 0 221 198 199 199' "$@"
}
check_ids --tokenizer "$small"
complains 2 'vact: expected one of --model and --tokenizer, found neither' "$vact" tokenize
complains 2 'vact: expected one of --model and --tokenizer, found both' "$vact" tokenize --model a --tokenizer b
complains 2 'vact: unexpected argument "x"' "$vact" tokenize x
complains 1 'vact: no.json: No such file or directory' "$vact" tokenize --tokenizer no.json
complains 1 'vact: no.gguf: No such file or directory' "$vact" tokenize --model no.gguf
complains 1 'vact: m.gguf: holds no tokenizer; vact inspect --embed-tokenizer writes a copy that does' \
    "$vact" tokenize --model m.gguf
for used in --model --tokenizer; do
    expect 0 "$vact" inspect --embed-tokenizer m.gguf "$small" spoken.gguf
    check_ids $used spoken.gguf
done
expect 0 "$vact" inspect spoken.gguf
prints '^    tokenizer.ggml.tokens  *string  *\[296\] "<|begin|>", "!",'
prints '^    none$'
expect 0 "$vact" run spoken.gguf --request "$request" --expect reply.json --tol 0
cp spoken.gguf once.gguf
expect 0 "$vact" inspect --embed-tokenizer spoken.gguf "$small" spoken.gguf
cmp -s spoken.gguf once.gguf || fail 'a tokenizer embedded again, in place, makes another file'
sed 's/smolvla\.vocab_size/smolvla.vocab_sise/' m.gguf >rows.gguf
complains 1 'vact: rows.gguf: key smolvla.vocab_size is missing, expected a u32' \
    "$vact" inspect --embed-tokenizer rows.gguf "$small" x.gguf
complains 1 "vact: $data/tokenizers/llama3.tokenizer.json: the tokenizer has ids up to 128255, expected at most 49279, the model's" \
    "$vact" inspect --embed-tokenizer m.gguf "$data/tokenizers/llama3.tokenizer.json" x.gguf
complains 2 'vact: the tokenizer is missing' "$vact" inspect --embed-tokenizer m.gguf
complains 2 'vact: the file to write is missing' "$vact" inspect --embed-tokenizer m.gguf "$small"
[ ! -e x.gguf ] || fail 'a refused tokenizer left a file'

# ---- bench ----
expect 0 "$vact" bench m.gguf --views 1,2 --reps 2 --json
prints '"views":1,"threads":[0-9]*,"min_ms":.*"p50_ms":.*"p90_ms":.*"cpu_ms":.*"stages":{"vision":{"ms":.*"gflop":.*"gflops":'
prints '"views":2,'
expect 0 "$vact" bench m.gguf --reps 2 --ab '--threads 1' '--threads 2 --isa scalar'
prints '^A "--threads 1": 1 view, 1 thread, 2 runs$'
prints '^B/A, median of pairs: total '
expect 0 "$vact" bench m.gguf --reps 2 --ab '--threads 1' '--threads 2' --json
prints '"variant":"B","options":"--threads 2","b_over_a":{"total":'
expect 0 "$vact" bench m.gguf --reps 1 --ab '' '--verbose'
[ "$(grep -c '^vact: session: ' err)" = 1 ] || fail "not one of two sessions is told of: $(cat err)"
expect 0 "$vact" bench m.gguf --reps 1 --ab '--act f32' '--act int8'
prints '^B "--act int8": 1 view'
complains 1 'vact: no.gguf: No such file or directory' "$vact" bench no.gguf --json
complains 2 'vact: --json and --markdown are both given, expected one of them' "$vact" bench m.gguf --json --markdown

# numbers KEY: what the document `out` has under that key, a line each
numbers() {
    grep -o "\"$1\":[0-9.]*" out | cut -d : -f 2
}

expect 0 "$vact" bench m.gguf --views 1,3 --reps 2 --json
grep -q roofline out && fail 'ceilings without --roofline'
expect 0 "$vact" bench m.gguf --views 1,3 --reps 2 --roofline --json
[ "$(tr -cd '{[' <out | wc -c)" = "$(tr -cd '}]' <out | wc -c)" ] || fail "brackets are open: $(cat out)"
stage='{"gflop":[0-9.]*,"weight_gb":[0-9.]*,"share":[0-9.]*}'
[ "$(grep -c "\"roofline\":{\"fma_gflops\":[0-9.]*,\"dot_gops\":[0-9.]*,\"read_gbs\":[0-9.]*,\"total\":$stage,\"vision\":$stage,\"prefix\":$stage,\"denoise\":$stage}}" out)" = 2 ] ||
    fail "not two runs with their ceilings: $(cat out)"
[ "$(numbers share | awk '$1 >= 0' | wc -l)" = 8 ] || fail "shares: $(cat out)" # 0.000 with sanitizers
for key in fma_gflops dot_gops read_gbs; do
    [ "$(numbers $key | awk '$1 > 0' | wc -l)" = 2 ] || fail "$key: $(cat out)"
done
# The whole is its stages; what inspect counts for 12 tokens is what bench is told to run.
expect 0 "$vact" bench m.gguf --views 1,3 --reps 1 --tokens 12 --roofline --json
sed -n 's/.*"roofline"//p' out | grep -o '"gflop":[0-9.]*' | cut -d : -f 2 |
    awk '{ total = NR % 4 == 1 ? $1 : total - $1 } NR % 4 == 0 && (total > 4e-6 || total < -4e-6) { exit 1 }' ||
    fail "stages don't add up: $(cat out)"
counted=$("$vact" inspect m.gguf | awk '$1 == 1 || $1 == 3 { if (NF == 6) printf "%s ", $5 }')
sed -n 's/.*"total":{"gflop":\([0-9.]*\).*/\1/p' out | awk -v counted="$counted" '
    BEGIN { split(counted, want) }
    { d = $1 - want[NR]; if (d > 6e-4 || d < -6e-4) exit 1; n++ }
    END { exit n != 2 }' || fail "inspect counts $counted: $(cat out)"

# rows N COLUMNS: a Markdown table of so many rows below its head, with as many columns in each
rows() {
    [ "$(grep -c '^|' out)" = $(($1 + 2)) ] || fail "not $1 rows: $(cat out)"
    grep '^|' out | awk -F '|' -v n="$2" 'NF != n + 2 { exit 1 }' || fail "not $2 columns everywhere: $(cat out)"
    awk '/^\|/ { head = 1 } head && !/^\|/ { exit 1 }' out || fail "a table in pieces: $(cat out)"
}
expect 0 "$vact" bench m.gguf --views 1,2 --reps 1 --markdown --threads 1 --isa scalar
prints ', [0-9]* CPUs, 1 thread, scalar, vact [0-9.]*, medians of 1$'
rows 10 7
expect 0 "$vact" bench m.gguf --reps 1 --markdown --roofline
rows 8 9
prints '^| 1 | f32 ceiling | | | | | [0-9.]* | | |$'
expect 0 "$vact" bench m.gguf --views 1,2 --reps 1 --markdown --ab '--threads 1' '--threads 2'
prints '^- B `--threads 2`: .*, 2 threads, '
rows 30 8
expect 0 "$vact" bench m.gguf --reps 1 --markdown --roofline --ab '--threads 1' '--threads 2'
rows 21 10
expect 0 "$vact" bench m.gguf --reps 1 --roofline
prints '^  total .* [0-9.]*$'
prints '^  ceilings beside the runs: [0-9.]* GFLOP/s f32 (share 1), [0-9.]* GOP/s int8, [0-9.]* GB/s read$'
complains 2 'vact: unknown option --rooflines, did you mean --roofline?' "$vact" bench m.gguf --rooflines
complains 2 'vact: option --views: 17 views, expected 1 to 16' "$vact" bench m.gguf --views 17
complains 2 'vact: option --views: -1 views, expected 1 to 16' "$vact" bench m.gguf --views -1
complains 2 'vact: option --act is "f16", expected one of f32|int8' "$vact" bench m.gguf --ab '--act f32' '--act f16'
complains 2 'vact: option --threads is "x", expected a whole number from 0 to 1024' "$vact" bench m.gguf --ab '--threads x' ''

finish
