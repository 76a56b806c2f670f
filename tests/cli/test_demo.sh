#!/bin/sh
# vact demo from outside: test_demo.sh VACT POLICY. What the policy achieves is test_episode's business.
vact=$1 policy=$2
. "$(dirname "$0")/expect.sh"

# ---- the report ----
expect 0 "$vact" demo --episodes 3 --seed 7
prints 'solved, with Wilson.* 3 of  *3  100.0 % \[ 43.9, 100.0\]'
prints '^  zone top  *2 of  *2 '
prints '^  [a-z]* the \.\.\. .* the \.\.\.'
[ "$(wc -L <out)" -le 80 ] || fail "a line of $(wc -L <out) columns"
prints '^median latency [0-9.]* ms: vision [0-9.]*, prefix [0-9.]*, denoise [0-9.]* ([0-9]* chunks)$'
[ ! -s err ] || fail "a line on stderr: $(cat err)"
expect 0 "$vact" demo --episodes 3 --seed 7 --json
prints '"seed": 7'
prints '"solved": 3'
[ "$(grep -c '"told": ' out)" = 3 ] || fail 'expected three runs in the JSON'
expect 0 "$vact" demo --wrong-text --episodes 2
prints 'did what it was told instead .* 2 of  *2 '
expect 0 "$vact" demo --wrong-text --episodes 1
prints ': did as told, which is not the goal$'
expect 0 "$vact" demo --wrong-text=zone --episodes 2 --json
prints '"telling": "zone"'
expect 0 "$vact" demo --hard --blind --replan 3 --episodes 2 --json
prints '"replan": 3'
prints '"blind": true'

# ---- a sentence of one's own; seed 3 has blue, red and yellow ----
expect 0 "$vact" demo --seed 3 --text 'Push the RED cube to the left edge'
prints '^"push the red cube to the left edge": solved in 15 steps, the scripted expert takes 15$'
expect 0 "$vact" demo --seed 3 --text 'push the red cube to the left edge' --json
prints '"sentence": {}'
expect 0 "$vact" demo --seed 3 --text 'push the cube away'
prints 'not scored'
complains 1 'vact: there is no green block on the table of seed 3, expected blue, red or yellow' \
    "$vact" demo --seed 3 --text 'push the green cube to the left edge'
complains 2 'vact: --text goes with one episode, found --episodes 2' "$vact" demo --text x --episodes 2
complains 2 'vact: --wrong-text and --text are both given, expected one of them' "$vact" demo --text x --wrong-text
complains 2 'vact: --held-out and --text are both given, expected one of them' "$vact" demo --text x --held-out
complains 2 'vact: option --wrong-text has nothing behind the =, expected <what>' "$vact" demo --wrong-text=
complains 2 'vact: option --wrong-text is "size", expected colour or zone' "$vact" demo --wrong-text=size
complains 2 'vact: option --episodes is "0", expected a whole number from 1 to 10000' "$vact" demo --episodes 0
complains 2 'vact: option --seed: the last table'\''s is above 2^63-1' "$vact" demo --seed 9223372036854775800
complains 2 'vact: unexpected argument "x"' "$vact" demo x

# ---- the film ----
expect 0 "$vact" demo --episodes 2 --render film
[ "$(cat err)" = 'vact: wrote film/demo.png and film/demo.gif' ] || fail "said $(cat err)"
[ "$(head -c 6 film/demo.gif)" = GIF89a ] || fail 'film/demo.gif is no GIF'
[ "$(head -c 4 film/demo.png | tail -c 3)" = PNG ] || fail 'film/demo.png is no PNG'
expect 0 "$vact" demo --episodes 1 --render one.gif
[ -s one.gif ] && [ -s one.png ] || fail 'expected one.gif and one.png'
complains 1 'vact: no/such: No such file or directory' "$vact" demo --episodes 1 --render no/such
cp one.png plain
complains 1 'vact: plain: is no folder, expected one or a name that ends in .gif' \
    "$vact" demo --episodes 1 --render plain
(ulimit -f 1 && "$vact" demo --episodes 1 --render limit) >out 2>err && fail "wrote a film over the limit"
grep -q '^vact: limit/demo.png: cannot write: ' err || fail "over the limit of a file's size: $(cat err)"
[ -z "$(ls limit)" ] || fail "left behind: $(ls limit)"

mkdir taken.gif
complains 1 'vact: taken.gif: is no regular file, expected one or none to replace' "$vact" demo --render taken.gif
complains 1 'vact: no/x.png: cannot write in its folder: No such file or directory' "$vact" demo --render no/x.gif
complains 2 'vact: option --render is empty, expected a folder or a name that ends in .gif' "$vact" demo --render ''
expect 0 "$vact" demo --episodes 1 --render "$(printf 'odd\nname')"
[ "$(wc -l <err)" = 1 ] || fail "a path broke the line: $(cat err)"

# ---- the view ----
expect 0 "$vact" demo --episodes 1 --view
grep -q '^vact: warning: --view: ' err || fail "nothing said of a view without a terminal: $(cat err)"
prints 'solved in'
if command -v script >/dev/null; then
    script -qec "stty cols 80 rows 24; TERM=xterm COLORTERM=truecolor LC_ALL=C.UTF-8 '$vact' demo --seed 0 --episodes 1 --view" \
        /dev/null >seen 2>&1 </dev/null || fail "--view on a terminal: $(tail -n 3 seen)"
    grep -q '▀' seen || fail 'no half block was drawn'
    grep -q 'solved in 12 steps' seen || fail 'no outcome below the view'
fi

# ---- where the policy is found ----
complains 1 'vact: /nowhere.gguf: No such file or directory' "$vact" demo --model /nowhere.gguf
expect 0 "$vact" demo --episodes 1 --model "$policy"
mkdir -p inst/bin inst/share/vact
cp "$vact" inst/bin/vact
expect 1 inst/bin/vact demo
grep -q '^vact: .*inst/bin/../share/vact/tabletop.gguf: not there, expected it to be installed with the program' err ||
    fail "said $(cat err)"
cp "$policy" inst/share/vact/
expect 0 inst/bin/vact demo --episodes 1

finish
