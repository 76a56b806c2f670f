#!/bin/sh
# The commands that make files of files, and compare them, from outside. test_convert.sh VACT REQUEST DATA
vact=$1 request=$2 data=$3
. "$(dirname "$0")/expect.sh"
expect 0 "$vact" synth smolvla --size tiny -o m.gguf

# ---- convert ----
directory=$data/lerobot_smolvla
convert() { "$vact" convert "$@"; }
act() { # CHECKPOINT [OPTION ...]: a chunk for one observation
    expect 0 "$vact" run "$@" --image "wrist=$data/pictures/exif_II_1.jpg" --image "front=$data/pictures/exif_II_2.jpg" \
        --text 'close the drawer' --state 12.5,-31.25,47,8.75,-3.5,22 --seed 7
}
expect 0 convert "$directory" -o c.gguf
[ "$(cat out)" = 'c.gguf: smolvla, 0.5 million parameters, 1.9 MB' ] || fail "said $(cat out)"
[ ! -s err ] || fail "a line on stderr: $(cat err)"
act "$directory" --json
cp out reply.json
act c.gguf --expect reply.json --tol 0
for type in f32 bf16 q8_0 q4_0; do
    expect 0 convert "$directory" -o $type.gguf --type $type
    act $type.gguf --expect reply.json --tol 0.2
done
cp -R "$directory" bare && rm bare/tokenizer.json
expect 0 convert bare -o c.gguf
[ "$(cat err)" = 'vact: c.gguf has no tokenizer, so it takes token ids only; --tokenizer <tokenizer.json> puts one in' ] ||
    fail "said $(cat err)"
expect 0 convert bare -o d.gguf --tokenizer "$directory/tokenizer.json"
expect 1 "$vact" diff c.gguf d.gguf
prints '^8 of 43 keys and 0 of 127 tensors differ$'
mkdir meta
cat >meta/info.json <<'J'
{
    "codebase_version": "v3.0",
    "robot_type": "so100_follower",
    "fps": 30,
    "features": {
        "action": {
            "dtype": "float32",
            "names": ["a.pos", "b.pos", "c.pos", "d.pos", "e.pos", "\u001b[1m"],
            "shape": [6]
        },
        "observation.state": {
            "dtype": "float32",
            "shape": [6],
            "names": {"motors": ["pan", "lift", "elbow", "flex", "roll", "grip"]}
        },
        "observation.images.front": {"dtype": "video", "shape": [480, 640, 3], "names": ["height", "width", "channels"]},
        "timestamp": {"dtype": "float32", "shape": [1], "names": null}
    }
}
J
expect 0 "$vact" inspect d.gguf
prints '^reads text: yes; cameras: wrist, front$'
expect 0 convert d.gguf -o e.gguf --dataset-info meta/info.json
expect 1 "$vact" diff d.gguf e.gguf
prints '^2 of 45 keys and 0 of 127 tensors differ$'
expect 0 "$vact" inspect e.gguf
prints '^reads text: yes; cameras: wrist, front; state: pan, lift, elbow, flex, roll, grip; actions: a.pos, b.pos, c.pos, d.pos, e.pos, \\x1b\[1m$'
complains 1 'vact: no/info.json: No such file or directory' convert bare -o x.gguf --dataset-info no/info.json
complains 1 'vact: meta/info.json: is the file to read and to write, expected two' \
    convert bare -o meta/info.json --dataset-info meta/info.json
sed -i 's/"lift", //' meta/info.json
complains 1 "vact: meta/info.json: features/observation.state/names: has 5 names, expected 6, one for each of the policy's values" \
    convert bare -o x.gguf --dataset-info meta/info.json
rm -r meta
complains 2 'vact: the directory is missing' convert
complains 2 'vact: -o <file> is missing' convert bare
complains 2 'vact: option --type is "f16", expected one of bf16|f32|q8_0|q4_0' convert bare -o x.gguf --type f16
complains 1 'vact: bare/model.safetensors: is a file of the checkpoint itself, expected another to write' \
    convert bare -o bare/model.safetensors
complains 1 'vact: bare: is a directory, expected a GGUF file, which vact convert makes' \
    "$vact" quantize bare -o x.gguf --type q8_0
full_disk() { (ulimit -f 100 && "$@"); }
complains 1 'vact: x.gguf: cannot write: File too large' full_disk "$vact" convert bare -o x.gguf
rm bare/config.json
complains 1 'vact: bare: has no config.json, expected a directory that LeRobot saved or a GGUF file' convert bare -o x.gguf
[ ! -e x.gguf ] && [ -z "$(find . -name '*x.gguf*')" ] || fail "something is left behind: $(ls)"
rm -r bare ./*.json
find . -name '*.gguf' ! -name m.gguf -exec rm {} +

# ---- quantize ----
quantize() { "$vact" quantize "$@"; }
expect 0 quantize m.gguf -o q8.gguf --type q8_0
[ "$(cat out)" = '1.8 MB -> 1.8 MB, 5 of 127 tensors are now q8_0' ] || fail "said $(cat out)"
[ ! -s err ] || fail "a line on stderr: $(cat err)"
expect 0 "$vact" run q8.gguf --request "$request" --act int8
expect 0 quantize m.gguf --output some.gguf --type q4_0 --only 'attn_o' --keep '^vlm'
prints ' 6 of 127 tensors are now q4_0$'
[ "$(cat err)" = 'vact: 2 more tensors match --only, but cannot be stored as q4_0 and stay as they are: vit.blk.0.attn_o.bias, ...' ] ||
    fail "no line on what cannot be stored: $(cat err)"
expect 0 "$vact" inspect some.gguf
prints '^    vit.blk.0.attn_o.weight  *q4_0 '
prints '^    vlm.blk.0.attn_o.weight  *bf16 '
expect 0 quantize q8.gguf -o back.gguf --type f32 --only 'vlm.blk.0.attn_o'
prints ' 1 of 127 tensors are now f32$'
[ ! -s err ] || fail "a line on stderr: $(cat err)"
for type in bf16 f16 f32; do
    expect 0 quantize m.gguf -o "$type.gguf" --type $type
done
cmp -s m.gguf bf16.gguf || fail 'matrices stored as what they are make another file'
rm -- *.gguf
expect 0 "$vact" synth smolvla --size tiny -o m.gguf

complains 2 'vact: the file is missing' quantize
complains 2 'vact: -o <file> is missing' quantize m.gguf --type q8_0
complains 2 'vact: --type q8_0|q4_0|bf16|f16|f32 is missing' quantize m.gguf -o x.gguf
complains 2 'vact: option --type is "q5_0", expected one of q8_0|q4_0|bf16|f16|f32' quantize m.gguf -o x.gguf --type q5_0
complains 1 'vact: m.gguf: is the file to read and to write, expected two' quantize m.gguf -o ./m.gguf --type q8_0
complains 1 'vact: no.gguf: No such file or directory' quantize no.gguf -o x.gguf --type q8_0
complains 1 'vact: no/x.gguf: cannot create a temporary file beside it: No such file or directory' \
    quantize m.gguf -o no/x.gguf --type q8_0
complains 1 'vact: the pattern "(" is no regular expression: missing closing parenthesis at its byte 1' \
    quantize m.gguf -o x.gguf --type q8_0 --only '('
complains 1 'vact: m.gguf: the pattern "lm_head" matches no matrix that can be stored as q8_0, expected one for names like vit.pos_embd' \
    quantize m.gguf -o x.gguf --type q8_0 --only lm_head
complains 1 'vact: x.gguf: cannot write: File too large' full_disk "$vact" quantize m.gguf -o x.gguf --type q8_0
[ "$(ls)" = "$(printf 'err\nm.gguf\nout')" ] || fail "something is left behind: $(ls)"

# ---- diff ----
diff() { "$vact" diff "$@"; }
expect 0 quantize m.gguf -o q8.gguf --type q8_0
expect 0 diff m.gguf m.gguf
[ "$(cat out)" = '0 of 32 keys and 0 of 127 tensors differ' ] || fail "said $(cat out)"
expect 1 diff m.gguf q8.gguf
[ "$(wc -l <out)" = 7 ] || fail "not 7 lines: $(cat out)"
prints '^tensors  *A  *B  *max error  *at value  *relative$'
prints '^    vlm.blk.3.attn_o.weight  *bf16  *q8_0  *[0-9].[0-9]*e-04  *[0-9]*  *[0-9].[0-9]*e-03$'
prints '^0 of 32 keys and 5 of 127 tensors differ; largest error [0-9].[0-9]*e-04, relative [0-9].[0-9]*e-03$'
expect 1 diff m.gguf q8.gguf --all
[ "$(wc -l <out)" = $((1 + 32 + 1 + 127 + 1)) ] || fail "not all lines: $(cat out)"
prints '^    smolvla.n_layers  *u32 4 same$'
prints '^    token_embd.weight  *bf16  *bf16  *same$'
expect 0 diff q8.gguf q8.gguf --all --json
[ "$(grep -o '"key"' out | wc -l) $(grep -o '"name"' out | wc -l)" = '32 127' ] || fail "not all in JSON: $(cat out)"
expect 1 diff m.gguf q8.gguf --json
prints '^{"a":"m.gguf","b":"q8.gguf","same":false,"keys":\[\],"tensors":\[{"name":"mm.fc.weight","same":false,"a":{"type":"bf16","shape":\[16,128\]},"b":{"type":"q8_0","shape":\[16,128\]},"values":{"different":[0-9]*,"max_error":0.000[0-9]*,"at":[0-9]*,"relative":0.00[0-9]*}},.*"n_tensors":127,"n_tensors_different":5,'
[ "$(wc -l <out)" = 1 ] || fail "not one line: $(cat out)"

# text LENGTH TEXT: as the format has it; below 256 bytes
text() { printf "\\$(printf %o "$1")\\0\\0\\0\\0\\0\\0\\0%s" "$2"; }
# key NAME TEXT: a text key of 1-byte name; byte NAME CODE: a tensor of 1 i8 at the start of the data
key() { text 1 "$1" && printf '\10\0\0\0' && text ${#2} "$2"; }
head_of() { printf "GGUF\\3\\0\\0\\0\\$1\\0\\0\\0\\0\\0\\0\\0\\$2\\0\\0\\0\\0\\0\\0\\0"; } # tensors, keys
tensor() { text 1 "$1" && printf '\1\0\0\0\1\0\0\0\0\0\0\0\30\0\0\0\0\0\0\0\0\0\0\0'; }
{ head_of 0 3 && key a one && key b "$(printf 'x\033y')" && key c same; } >keys1.gguf
{ head_of 0 3 && key a two && key c same && key d new; } >keys2.gguf
expect 1 diff keys1.gguf keys2.gguf
cat >want <<'W'
keys
    a                                            string "one" -> string "two"
    b                                            only in A: string "x\x1by"
    d                                            only in B: string "new"
3 of 4 keys and 0 of 0 tensors differ
W
cmp -s out want || fail "said $(cat out)"
expect 1 diff keys1.gguf keys2.gguf --json
prints '"keys":\[{"key":"a","same":false,"a":{"type":"string","array":false,"value":"\\"one\\""},"b":{"type":"string","array":false,"value":"\\"two\\""}},'
prints '{"key":"d","same":false,"a":null,"b":{"type":'

complains 2 'vact: the first file is missing' diff
complains 2 'vact: the second file is missing' diff m.gguf
complains 2 'vact: no.gguf: No such file or directory' diff m.gguf no.gguf
complains 2 'vact: out: found a file of 0 bytes, expected at least 24' diff m.gguf out
if [ -w /dev/full ]; then
    "$vact" diff m.gguf q8.gguf >/dev/full 2>err
    [ $? = 2 ] || fail 'a full disk is no trouble'
    [ "$(cat err)" = 'vact: standard output: cannot write all of it' ] || fail "said $(cat err)"
fi
rm keys1.gguf keys2.gguf q8.gguf want

# ---- merge ----
merge() { "$vact" merge "$@"; }
# A language model, and a tower: each with a tensor of one byte in its 32-byte aligned data.
pad() { head -c $(((32 - $(wc -c <"$1") % 32) % 32)) /dev/zero >>"$1"; }
{ head_of 1 2 && key a lm && text 12 general.name && printf '\10\0\0\0' && text 3 one && tensor x; } >lm.gguf
pad lm.gguf && printf '\5' >>lm.gguf
{ head_of 1 2 && key b tower && text 12 general.name && printf '\10\0\0\0' && text 3 two && tensor y; } >tower.gguf
pad tower.gguf && printf '\6' >>tower.gguf
expect 0 merge lm.gguf tower.gguf -o whole.gguf
[ "$(cat out)" = "0.0 MB, 3 keys (1 of the second file's left out), 1 + 1 tensors" ] || fail "said $(cat out)"
[ ! -s err ] || fail "a line on stderr: $(cat err)"
expect 0 merge lm.gguf tower.gguf -o again.gguf --verbose
[ "$(cat err)" = 'vact: left out: general.name "two"' ] || fail "said $(cat err)"
cmp -s whole.gguf again.gguf || fail 'the same files make another'
expect 1 diff whole.gguf lm.gguf
prints '^    b  *only in A: string "tower"$'
prints '^    y  *i8  *-  *only in A$'
prints '^1 of 3 keys and 1 of 2 tensors differ$'
rm whole.gguf again.gguf
{ head_of 1 1 && key a tower && tensor y; } >other.gguf
pad other.gguf && printf '\6' >>other.gguf
complains 1 'vact: other.gguf: key a: found string "tower", expected string "lm", as in lm.gguf' \
    merge lm.gguf other.gguf -o x.gguf
complains 1 'vact: lm.gguf: tensor x: is in lm.gguf too, expected in one of them' merge lm.gguf lm.gguf -o x.gguf
complains 1 'vact: tower.gguf: is the file to read and to write, expected two' merge lm.gguf tower.gguf -o tower.gguf
complains 2 'vact: the language model is missing' merge
complains 2 'vact: the vision tower is missing' merge lm.gguf
complains 2 'vact: -o <file> is missing' merge lm.gguf tower.gguf
complains 1 'vact: x.gguf: cannot write: File too large' full_disk "$vact" merge m.gguf tower.gguf -o x.gguf
[ "$(ls)" = "$(printf 'err\nlm.gguf\nm.gguf\nother.gguf\nout\ntower.gguf')" ] || fail "something is left behind: $(ls)"

finish
