#!/bin/sh
# check_spills.sh OBJDUMP LIBVACT.A: no inner loop of the products uses the stack, and those of floats store no vectors.
# Accumulators that a compiler keeps in memory cost more than half the speed, and no test of results would notice.
#
# Of the members gemm_<level> and int8_<level> but the scalar ones, in functions called gemm or tile, it takes the loops
# that contain no other loop and do a multiply-add: from the target of a jump backwards to the jump. (A jump back from
# behind the function's return leads to rarely executed code, not around a loop.)
set -eu
objdump=$1 archive=$2
"$objdump" -d --no-show-raw-insn "$archive" | awk '
# What keeps a value in memory: an operand on the stack, a vector that is stored.
function in_memory(line)
{
    return line ~ /\(%rsp|\[sp/ || (framed && line ~ /\(%rbp|\[x29/) ||
        (member ~ /^gemm/ && line ~ /^vmov.*,[^,%]*\([^()]*\)$|^st[a-z0-9]* [{ ]*[qvds][0-9]/)
}
function finish_function(    i, j, inner, n, multiplies, returns)
{
    for (i = 1; i <= jumps && name ~ /gemm|tile/; i++) {
        inner = 1
        for (j = 1; j <= jumps; j++)
            if (j != i && to[j] >= to[i] && from[j] <= from[i] && (to[j] != to[i] || from[j] != from[i]))
                inner = 0
        if (!inner)
            continue
        multiplies = returns = 0
        for (n = to[i]; n <= from[i]; n++) {
            multiplies += code[n] ~ /vfmadd|vpdp|vpmadd|fmla|sdot|smmla|smlal|sadalp/
            returns += code[n] ~ /^ret/
        }
        if (!multiplies || returns)
            continue
        loops[member]++
        for (n = to[i]; n <= from[i]; n++)
            if (in_memory(code[n])) {
                print member " " name ": in a loop of " from[i] - to[i] + 1 " instructions: " code[n]
                bad = 1
            }
    }
    count = jumps = framed = 0
    split("", index_of)
}
/^[^ ].*:[ \t]*file format/ { # binutils: member.c.o:, LLVM: archive(member.c.o):
    finish_function()
    member = $1
    sub(/.*\(/, "", member)
    sub(/\.c\.(o|obj)\)?:$/, "", member)
    wanted = member ~ /^(gemm|int8)_/ && member !~ /_c$/
    if (wanted)
        loops[member] += 0
}
!wanted {
    next
}
/^[0-9a-f]+ </ {
    finish_function()
    name = substr($2, 2, length($2) - 3)
}
/^ +[0-9a-f]+:/ {
    count++
    index_of[substr($1, 1, length($1) - 1)] = count
    line = $0
    sub(/^ *[0-9a-f]+:[ \t]*/, "", line)
    gsub(/[ \t]+/, " ", line)
    code[count] = line
    if (line ~ /^movq? %rsp, ?%rbp|^(mov|add) x29, sp/)
        framed = 1
    if (line ~ /^(j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z) .*</) {
        target = line
        sub(/ <.*/, "", target)
        sub(/.* (0x)?/, "", target)
        if (target in index_of) {
            from[++jumps] = count
            to[jumps] = index_of[target]
        }
    }
}
END {
    finish_function()
    members = 0
    for (member in loops) {
        members++
        print member ": " loops[member] " loops"
        if (loops[member] == 0) {
            print member ": no loop with a multiply-add was found"
            bad = 1
        }
    }
    if (members == 0) {
        print "no members gemm_<level> or int8_<level> in the archive"
        bad = 1
    }
    exit bad
}'
