# What the tests of the command share: a folder to work in, what is expected of a run. Sourced.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# expect CODE COMMAND ...: runs it into out and err
expect() {
    want=$1
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "exit code $got, expected $want: $*: $(cat err)"
}

# complains CODE TEXT COMMAND ...: the first line of stderr is that text, stdout is empty
complains() {
    text=$2
    code=$1
    shift 2
    expect "$code" "$@"
    [ "$(head -n 1 err)" = "$text" ] || fail "said \"$(head -n 1 err)\", expected \"$text\""
    [ ! -s out ] || fail "printed on stdout: $*"
    [ "$code" != 1 ] || [ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat err)"
}

prints() {
    grep -q -e "$1" out || fail "\"$1\" is not in the output"
}

# The last line of a test.
finish() {
    [ "$failures" = 0 ] && exit 0
    echo "$failures failed" >&2
    exit 1
}
