#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

enum { LONGEST = 48 };

/* Levenshtein distance, one row at a time. */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(b);
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const size_t replace = diagonal + (a[i] != b[j]);
            const size_t edit = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replace < edit ? replace : edit;
        }
    }
    return row[n];
}

const char *vact_nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    const size_t length = strlen(word);
    size_t fewest = (length + 1) / 2 + 1; /* that many edits make another word */
    if (length > LONGEST)
        return NULL;
    for (; *words; words++) {
        if (strlen(*words) > LONGEST)
            continue;
        const size_t d = distance(word, *words);
        if (d < fewest && d < length) {
            fewest = d;
            best = *words;
        }
    }
    return best;
}
