/* an EXIF segment -> one of eight orientations -> where each stored pixel goes
 *
 * The segment is "Exif\0\0" and a TIFF file: byte order, 42, the offset of a directory, which is a count and entries
 * of 12 bytes (tag, type, count, value). Offsets count from the byte order mark. */
#include "image/decode.h"
#include <string.h>

typedef struct tiff {
    const uint8_t *bytes;
    size_t size;
    bool big; /* endian */
} tiff;

enum { ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12 };

/* 0 beyond the end. */
static uint32_t read_uint(const tiff *t, size_t at, size_t width)
{
    if (at > t->size || width > t->size - at)
        return 0;
    uint32_t v = 0;
    for (size_t i = 0; i < width; i++)
        v = v << 8 | t->bytes[t->big ? at + i : at + width - 1 - i];
    return v;
}

int vact_exif_orientation(const uint8_t *segment, size_t size)
{
    static const char mark[] = "Exif\0"; /* and the literal's own NUL */
    if (size < sizeof mark || memcmp(segment, mark, sizeof mark) != 0)
        return 0;
    tiff t = { segment + sizeof mark, size - sizeof mark, false };
    t.big = t.size > 0 && t.bytes[0] == 'M';
    if (read_uint(&t, 0, 2) != (t.big ? 0x4D4D : 0x4949) || read_uint(&t, 2, 2) != 42)
        return 1;
    const size_t directory = read_uint(&t, 4, 4);
    const uint32_t entries = read_uint(&t, directory, 2);
    for (uint32_t i = 0; i < entries; i++) {
        const size_t entry = directory + 2 + ENTRY * (size_t)i;
        if (read_uint(&t, entry, 2) != ORIENTATION)
            continue;
        const uint32_t value = read_uint(&t, entry + 8, 2);
        const bool valid = read_uint(&t, entry + 2, 2) == SHORT && read_uint(&t, entry + 4, 4) == 1;
        return valid && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

vact_grid vact_exif_grid(int orientation, int32_t width, int32_t height)
{
    static const struct {
        bool swapped, x_back, y_back; /* x_back: stored columns run from the upright picture's far end */
    } turns[] = {
        [1] = { false, false, false }, [2] = { false, true, false }, [3] = { false, true, true },
        [4] = { false, false, true },  [5] = { true, false, false }, [6] = { true, false, true },
        [7] = { true, true, true },    [8] = { true, true, false },
    };
    const bool swapped = turns[orientation].swapped;
    vact_grid grid = { .step_x = swapped ? height : 1, .step_y = swapped ? 1 : width };
    if (turns[orientation].x_back) {
        grid.origin += (width - 1) * grid.step_x;
        grid.step_x = -grid.step_x;
    }
    if (turns[orientation].y_back) {
        grid.origin += (height - 1) * grid.step_y;
        grid.step_y = -grid.step_y;
    }
    return grid;
}
