#!/bin/sh
# hf: names from outside, against server.py, which says what goes wrong where. test_hub.sh VACT SERVER PYTHON DATA
vact=$1 server=$2 python=$3 data=$4
. "$(dirname "$0")/../cli/expect.sh"
export HOME="$work/home" no_proxy='*'
unset XDG_CACHE_HOME
mkdir home
wait_for() { # COMMAND ...: until it succeeds
    for i in $(seq 1000); do
        "$@" 2>/dev/null && return
        sleep 0.02
    done
    fail "in vain: $*"
}
"$vact" synth smolvla --size tiny -o tiny.gguf || fail "no checkpoint to serve"
"$python" "$server" tiny.gguf "$data/lerobot_smolvla" 2>server.err &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT
wait_for [ -e ports ]
read -r port store <ports || fail "the server does not start: $(cat server.err)"
hub=http://127.0.0.1:$port commit=1234567890abcdef1234567890abcdef12345678 next=fedcba0987654321fedcba0987654321fedcba09
sum=$(sha256sum <tiny.gguf) size=$(wc -c <tiny.gguf)

ask() { # CODE NAME [OPTION ...]
    code=$1
    shift
    expect "$code" "$vact" inspect --hub "$hub" "$@"
}
get() { # NAME [OPTION ...]: there is such a checkpoint
    ask 0 "$@"
}
refuses() { # TEXT NAME [OPTION ...]: exit 1 and, behind what is told of the download, that line
    text=$1
    shift
    ask 1 "$@"
    [ "$(tail -n 1 err)" = "vact: $text" ] || fail "said \"$(cat err)\", expected \"$text\""
    [ ! -s out ] || fail "printed on stdout: $*"
}
is() { # FILE: is the checkpoint
    [ "$(sha256sum <"$1")" = "$sum" ] || fail "$1 is not what was served"
}
asked() { # PATTERN N: so many requests since the log was emptied
    [ "$(grep -c -e "$1" log)" = "$2" ] || fail "not $2 of \"$1\": $(cat log)"
}
kept() { # REPOSITORY FILE ...: what its folder in the cache holds, but for listings, and no part
    folder=$cache/hf/t/$1/
    shift
    found=$(cd "$folder" 2>/dev/null && find . -mindepth 2 -type f |
        sed 's/^\.\/[0-9a-f]*\///' | LC_ALL=C sort | tr '\n' ' ')
    [ "$found" = "$(for i in "$@"; do printf '%s ' "$i"; done)" ] || fail "$folder holds $found"
}
cache=$work/home/.cache/vact

# ---- a file, by way of the default cache ----
: >log
get hf:t/plain
prints "^$cache/hf/t/plain/$commit/model.gguf: GGUF version 3, $size bytes"
grep -q "^vact: hf:t/plain: downloading 1 file, .* MB, to $cache/hf/t/plain/$commit$" err || fail "$(cat err)"
is "$cache/hf/t/plain/$commit/model.gguf"
kept plain model.gguf
[ "$(ls "$cache/hf/t/plain")" = "$(printf '%s\n%s.json\nmain.json' $commit $commit)" ] ||
    fail "$(ls "$cache/hf/t/plain")"
asked '^hub GET /api/models/t/plain/revision/main?blobs=true - - 200$' 1
asked "^hub GET /t/plain/resolve/$commit/model.gguf - - 200\$" 1
get hf:t/plain/model.gguf # only the branch is looked up
[ ! -s err ] || fail "a line on stderr: $(cat err)"
asked /resolve/ 1
asked 'revision/main' 2
get "hf:t/plain@$commit" # not even that
get hf:t/plain --offline
asked . 3
XDG_CACHE_HOME=$work/xdg
export XDG_CACHE_HOME
get hf:t/plain
is "xdg/vact/hf/t/plain/$commit/model.gguf"
unset XDG_CACHE_HOME
cache=$work/c
set -- --cache c
get hf:t/plain@v1%2F2 "$@"
[ -e "c/hf/t/plain/v1%2F2.json" ] || fail "the revision is not kept: $(ls c/hf/t/plain)"
get hf:t/redirected "$@"
get hf:t/rename "$@"
kept rename model.gguf
truncate -s 5 "c/hf/t/plain/$commit/model.gguf" # is not the one that was put there
get hf:t/plain "$@"
is "c/hf/t/plain/$commit/model.gguf"
expect 0 "$vact" run hf:t/plain --hub "$hub" --cache c --request "$data/smolvla_tiny_request.json"
expect 1 "$vact" run tiny.gguf --tokenizer hf:t/plain --hub "$hub" --cache c --request "$data/smolvla_tiny_request.json"
grep -q "^vact: c/hf/t/plain/$commit/model.gguf: holds no tokenizer" err || fail "$(cat err)"
expect 0 "$vact" bench hf:t/plain --hub "$hub" --cache c --reps 1 --threads 1
expect 1 "$vact" tokenize --model hf:t/plain --hub "$hub" --cache c
grep -q "c/hf/t/plain/$commit/model.gguf: holds no tokenizer" err || fail "$(cat err)"
expect 1 "$vact" demo --model hf:t/plain --hub "$hub" --cache c
grep -q "c/hf/t/plain/$commit/model.gguf" err || fail "$(cat err)"
expect 0 "$vact" inspect --hub "$hub" --cache c --embed-tokenizer hf:t/plain \
    "$data/tokenizers/smollm2.tokenizer.json" out.gguf

# ---- folders ----
refuses "hf:t/two: found 2 GGUF files, expected one of them behind the repository: a.gguf, b.gguf" hf:t/two "$@"
get hf:t/two/a.gguf "$@"
ask 1 hf:t/two/Q4 "$@" # what is in it makes no sense
kept two Q4/model-q4.gguf a.gguf
refuses "hf:t/two/c.gguf: the repository has no such file, did you mean a.gguf?" hf:t/two/c.gguf "$@"
refuses "hf:t/two/something-else: the repository has no such file, it has a.gguf, b.gguf, Q4/model-q4.gguf" \
    hf:t/two/something-else "$@"
refuses "hf:t/none: neither a GGUF file nor config.json with *.safetensors is there, expected one or the other" \
    hf:t/none "$@"
refuses "hf:t/empty: the repository has no such file, it has none at all" hf:t/empty "$@"
: >log
ask 1 hf:t/checkpoint "$@"
grep -q "^vact: c/hf/t/checkpoint/$commit/model.safetensors: found a header of" err || fail "$(cat err)"
kept checkpoint config.json merges.txt model.safetensors policy_preprocessor.json spiece.model
is "c/hf/t/checkpoint/$commit/model.safetensors"
asked /resolve/ 5
ask 1 hf:t/checkpoint/last "$@"
grep -q "^vact: c/hf/t/checkpoint/$commit/last: config.json: the policy's type is missing" err || fail "$(cat err)"
asked /resolve/ 7 # the empty one needs none
asked "/last/b%20c%2B%C3%A9.safetensors - - 200" 1
kept checkpoint config.json last/b\ c+é.safetensors last/config.json last/empty.json merges.txt model.safetensors \
    policy_preprocessor.json spiece.model

# ---- a policy that LeRobot saved ----
get hf:t/lerobot "$@"
prints "a directory that LeRobot saved"
prints "cameras: wrist, front"
expect 0 "$vact" convert hf:t/lerobot --hub "$hub" --cache c -o converted.gguf
expect 0 "$vact" convert "$data/lerobot_smolvla" -o local.gguf
cmp converted.gguf local.gguf || fail "what was fetched converts to something else"

# ---- tokens ----
: >log
echo hf_sesame >token
mkdir -p home/.cache/huggingface
echo hf_of_the_house >home/.cache/huggingface/token
get hf:t/cdn "$@"
asked '^store GET /object?signature=a%2Fb - - 200$' 1
asked hf_ 0 # another hub than the one the token in the house is for
exists='exists, accept its terms there and give --hub-token <file>'
refuses "hf:t/private: the hub refuses it without a token (401): if $hub/t/private $exists" hf:t/private "$@"
echo hf_wrong >wrong
refuses "hf:t/private: the hub refuses it with this token (403): accept the terms on $hub/t/private with the token's account" \
    hf:t/private --hub-token wrong "$@"
refuses "hf:t/secret: the hub refuses it without a token (401): if $hub/t/secret $exists" hf:t/secret "$@"
: >log
get hf:t/private --hub-token token "$@"
asked "^hub GET /t/private/resolve/$commit/model.gguf?other=1 - hf_sesame 302\$" 1
asked '^store GET /object - - 200$' 1
asked '^store .*hf_' 0
is "c/hf/t/private/$commit/model.gguf"
refuses "the token's file none: No such file or directory" hf:t/cut --hub-token none "$@"
printf 'hf_a\033b\n' >wrong
refuses "the token's file wrong: the first line holds more than letters and digits" hf:t/cut --hub-token wrong "$@"
: >wrong
refuses "the token's file wrong: expected a token in its first line" hf:t/cut --hub-token wrong "$@"

# ---- broken off, and gone on with ----
: >log
get hf:t/cut "$@"
grep -q '^vact: hf:t/cut: .*; trying again in 0.5 s$' err || fail "$(cat err)"
is "c/hf/t/cut/$commit/model.gguf"
asked "^hub GET /t/cut/resolve/$commit/model.gguf bytes=$((size / 2))- - 206\$" 1
get hf:t/norange "$@"
is "c/hf/t/norange/$commit/model.gguf"
: >log
get hf:t/changed "$@" # two halves of different files
is "c/hf/t/changed/$commit/model.gguf"
asked '/resolve/.* 206$' 1
asked '/resolve/.* 200$' 2
refuses "hf:t/shifted: the hub sent bytes from $((size / 2 + 1)) on, asked for those from $((size / 2)) on" \
    hf:t/shifted "$@"
kept shifted
ask 1 hf:t/restless "$@"
grep -q "^vact: hf:t/restless: the connection broke, at attempt 6 as well: " err || fail "$(cat err)"
kept restless model.gguf.part
: >log
refuses "hf:t/patchwork: model.gguf has not the hash that the hub lists; it is removed" hf:t/patchwork "$@"
kept patchwork
asked '/resolve/.* 200$' 2
asked '/resolve/.* 206$' 2
get hf:t/interrupted "$@" # the listing itself
kept interrupted model.gguf

# ---- two at once ----
slowly() { # ERR REPOSITORY: in the background, until it has got half
    : >hold
    "$vact" inspect "hf:t/$2" --hub "$hub" --cache c >slow.out 2>"$1" &
    wait_for [ -s "c/hf/t/$2/$commit/model.gguf.part" ]
}
slowly err1 slow
first=$!
"$vact" inspect hf:t/slow --hub "$hub" --cache c >out 2>err2 &
second=$!
wait_for grep -q '^vact: hf:t/slow: waiting for another process that downloads it$' err2
: >log
rm hold
wait $first || fail "the first: $(cat err1)"
wait $second || fail "the second: $(cat err2)"
asked /resolve/ 0
is "c/hf/t/slow/$commit/model.gguf"
kept slow model.gguf
rm "c/hf/t/slow/$commit/model.gguf"
slowly err1 slow
first=$!
"$vact" inspect hf:t/slow --hub "$hub" --cache c >out 2>err2 & # it goes on with what the first leaves
second=$!
wait_for grep -q '^vact: hf:t/slow: waiting for another process that downloads it$' err2
: >log
kill $first
wait $first 2>/dev/null
rm hold
wait $second || fail "the second: $(cat err2)"
asked '/resolve/.* bytes=[1-9].* 206$' 1
asked /resolve/ 1
is "c/hf/t/slow/$commit/model.gguf"
kept slow model.gguf
slowly err1 slowly-wrong # the first throws its part away while the second waits for it
first=$!
"$vact" inspect hf:t/slowly-wrong --hub "$hub" --cache c >out 2>err2 &
second=$!
wait_for grep -q '^vact: hf:t/slowly-wrong: waiting for another process that downloads it$' err2
rm hold
wait $first && fail "the first should have failed: $(cat err1)"
wait $second || fail "the second: $(cat err2)"
is "c/hf/t/slowly-wrong/$commit/model.gguf"
kept slowly-wrong model.gguf

# ---- what an earlier try left ----
part=c/hf/t/plain/$commit/model.gguf.part
rm "c/hf/t/plain/$commit/model.gguf"
head -c $((size / 3)) tiny.gguf >"$part"
: >log
get hf:t/plain "$@"
is "c/hf/t/plain/$commit/model.gguf"
asked "/resolve/.* bytes=$((size / 3))- - 206\$" 1
asked /resolve/ 1
for n in $size $((size / 3)); do # of something else
    rm "c/hf/t/plain/$commit/model.gguf"
    head -c "$n" /dev/zero >"$part"
    get hf:t/plain "$@"
    is "c/hf/t/plain/$commit/model.gguf"
done
get hf:t/part416 "$@"
is "c/hf/t/part416/$commit/model.gguf"
cp tiny.gguf "$part"
echo more >>"$part"
rm "c/hf/t/plain/$commit/model.gguf"
get hf:t/plain "$@" # a part that is too long
is "c/hf/t/plain/$commit/model.gguf"
mv "c/hf/t/plain/$commit/model.gguf" "$part"
: >log
get hf:t/plain "$@" # a whole one
is "c/hf/t/plain/$commit/model.gguf"
asked /resolve/ 0

# ---- not what is listed ----
refuses "hf:t/hash: model.gguf has not the hash that the hub lists; it is removed" hf:t/hash "$@"
refuses "hf:t/short: model.gguf has not the size that the hub lists; it is removed" hf:t/short "$@"
refuses "hf:t/long: the hub sent more than $((size - 10)) bytes, expected no more" hf:t/long "$@"
for name in hash short long; do
    kept $name
done

# ---- refusals ----
refuses "hf:t/nowhere: there is no $hub/t/nowhere (404)" hf:t/nowhere "$@"
refuses "hf:t/flood: there is no $hub/t/flood (404)" hf:t/flood "$@"
[ ! -e flooded ] || fail "it read all of an endless page"
refuses "hf:t/plain@v2: $hub/t/plain has no such revision (404)" hf:t/plain@v2 "$@"
refuses "hf:t/gone: $hub/t/gone lists the file but does not have it (404)" hf:t/gone "$@"
refuses "hf:t/teapot: the hub answers 418, expected 200" hf:t/teapot "$@"
refuses "hf:t/loop: the hub redirects (302) to nowhere, or again and again" hf:t/loop "$@"
ask 1 hf:t/ftp "$@"
grep -q '^vact: hf:t/ftp: .*rotocol "\?file"\?' err || fail "$(cat err)"
get hf:t/busy "$@"
[ "$(grep -c 'busy (429); trying again in [01] s$' err)" = 2 ] || fail "$(cat err)"
refuses "hf:t/down: the hub is busy (503), at attempt 6 as well" hf:t/down "$@"
refuses "hf:t/later: the hub is busy (429) and asks to come back in 3600 s" hf:t/later "$@"
refuses "hf:t/huge: the hub sent more than 33554432 bytes, expected no more" hf:t/huge "$@"
ask 1 hf:t/page "$@"
grep -q '^vact: hf:t/page: not JSON at line 1' err || fail "$(cat err)"
refuses "hf:t/other-commit@$commit: the hub answers with commit $next" "hf:t/other-commit@$commit" "$@"
refuses 'hf:t/plain-list: file "model.gguf" has no size or no hash, expected size and blobId, or lfs' \
    hf:t/plain-list "$@"
hostile() { # NAME WORDS
    ask 1 "hf:t/hostile-$1"
    [ "$(wc -l <err)" = 1 ] || fail "$1: $(cat err)"
    grep -q "^vact: hf:t/hostile-$1: the path \".*\" $2, expected one below the repository$" err || fail "$1: $(cat err)"
    kept "hostile-$1"
}
hostile up 'has a part . or ..'
hostile middle 'has a part . or ..'
hostile absolute 'is absolute'
hostile backslash 'holds a control character or a backslash'
hostile empty 'has an empty part'
hostile control 'holds a control character or a backslash'
hostile nul 'holds a NUL'
hostile dot 'has a part . or ..'
hostile last 'has an empty part'
hostile long 'has a part longer than 200 bytes'
hostile longer 'is longer than 1024 bytes'
hostile nothing 'has an empty part'
[ -z "$(find "$work" -name '*escaped*')" ] || fail "a file got out of the cache"

# ---- no room ----
(
    ulimit -f 1
    "$vact" inspect hf:t/plain --hub "$hub" --cache full >out 2>err
)
grep -q '^vact: full/hf/t/plain/.*/model.gguf.part: cannot write: File too large$' err || fail "$(cat err)"
get hf:t/plain --cache full
is "full/hf/t/plain/$commit/model.gguf"
: >not-a-folder
refuses "not-a-folder/hf: cannot make this folder: Not a directory" hf:t/plain --cache not-a-folder

# ---- its libraries: loaded to ask a hub, and for nothing else ----
maps() { # NAME $yes|$no COMMAND ...: whether the command maps that library
    name=$1 mapped=$2
    shift 2
    expect 0 env LD_DEBUG=files "$@"
    grep -q "calling init: .*/lib$name\.so" err
    [ $? = "$mapped" ] || fail "lib$name is mapped, or is not: $*"
}
yes=0 no=1
for name in curl crypto; do
    maps $name $no "$vact" --help
    maps $name $no "$vact" inspect tiny.gguf
    maps $name $no "$vact" inspect hf:t/plain --cache c --offline
    maps $name $no "$vact" inspect "hf:t/plain@$commit" --cache c
    maps $name $yes "$vact" inspect hf:t/plain --hub "$hub" --cache c
done
maps jansson $yes "$vact" --help
mkdir broken other
seq 1000 >broken/libcurl.so.4
ln -s "$(ldd "$vact" | awk '/libjansson/ { print $3 }')" other/libcurl.so.4
need='vact: hf: names need libcurl.so.4'
complains 1 "$need (Debian: the package libcurl4): broken/libcurl.so.4: invalid ELF header" \
    env LD_LIBRARY_PATH=broken "$vact" inspect hf:t/plain --hub "$hub" --cache c
complains 1 "$need, and the one that is there has no curl_easy_cleanup" \
    env LD_LIBRARY_PATH=other "$vact" inspect hf:t/plain --hub "$hub" --cache c
expect 0 env LD_LIBRARY_PATH=broken "$vact" inspect tiny.gguf
expect 0 env LD_LIBRARY_PATH=broken "$vact" inspect hf:t/plain --cache c --offline

# ---- a branch that moves, and no network ----
get hf:t/branch --cache c
: >moved
ask 1 hf:t/branch --cache c # no GGUF file, but the one that is there now
[ -e "c/hf/t/branch/$next/model.gguf" ] && [ -e "c/hf/t/branch/$commit/model.gguf" ] || fail "$(ls c/hf/t/branch)"
get "hf:t/branch@$commit" --cache c
rm moved
get hf:t/branch --cache c
kill $pid
wait $pid 2>/dev/null
get hf:t/branch --cache c
grep -q "^vact: warning: hf:t/branch: no connection to $hub: .*; taking what the cache has, of commit 1234567890ab$" \
    err || fail "$(cat err)"
[ "$(wc -l <err)" = 1 ] || fail "$(cat err)"
get hf:t/branch --cache c --offline
[ ! -s err ] || fail "$(cat err)"
get "hf:t/branch@$commit" --cache c
[ ! -s err ] || fail "$(cat err)"
rm "c/hf/t/branch/$commit/model.gguf"
refuses "hf:t/branch: --offline, and c/hf/t/branch/$commit/model.gguf is not in the cache" \
    hf:t/branch --cache c --offline
refuses "hf:t/other: --offline, and no complete download of it is in the cache c/hf/t/other" \
    hf:t/other --cache c --offline
ask 1 hf:t/branch --cache c
grep -q "^vact: hf:t/branch: no connection to $hub: " err || fail "$(cat err)"

# ---- settings ----
complains 1 'vact: the hub is "ftp://a", expected http:// or https:// with a host, such as https://huggingface.co' \
    "$vact" inspect hf:t/plain --hub ftp://a
complains 1 'vact: the hub is "http://", expected http:// or https:// with a host, such as https://huggingface.co' \
    "$vact" inspect hf:t/plain --hub http://
complains 1 "vact: hf:t/plain: the cache's folder is empty, expected a path" "$vact" inspect hf:t/plain --cache ''
complains 1 'vact: hf:t/plain: there is no HOME to keep it in, expected --cache <folder>' \
    env -u HOME "$vact" inspect hf:t/plain
complains 1 'vact: hf:plain: expected hf:user/repo, hf:user/repo/file or hf:user/repo@revision/file' \
    "$vact" inspect hf:plain
finish
