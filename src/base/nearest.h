/* "Did you mean": the known word closest to one that isn't known. */
#ifndef VACT_BASE_NEAREST_H
#define VACT_BASE_NEAREST_H

/* The word of `words` (NULL ends) with the fewest edits to `word`; NULL when none is close. */
const char *vact_nearest(const char *word, const char *const *words);

#endif
