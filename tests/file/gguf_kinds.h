/* A small file of everything that a GGUF file may hold. */
#ifndef TESTS_FILE_GGUF_KINDS_H
#define TESTS_FILE_GGUF_KINDS_H

#include "gguf_bytes.h"

/* Every value type, alone and in an array, and three tensors; the last one's data ends the file. */
static const char all_kinds[] =
    "8:3 8:24 "
    "s:u8 4:0 1:200 s:i8 4:1 1:-100 s:u16 4:2 2:60000 s:i16 4:3 2:-30000 s:u32 4:4 4:4000000000 "
    "s:i32 4:5 4:-2000000000 s:f32 4:6 f:1e-5 s:bool 4:7 1:1 s:text 4:8 s:pick%20up s:u64 4:10 "
    "8:0xfffffffffffffffe "
    "s:i64 4:11 8:-9000000000 s:f64 4:12 d:0.1 "
    "s:a.u8 4:9 4:0 8:3 1:1 1:2 1:255 s:a.i8 4:9 4:1 8:2 1:-1 1:1 s:a.u16 4:9 4:2 8:2 2:1 2:65535 "
    "s:a.i16 4:9 4:3 8:2 2:-1 2:1 s:a.u32 4:9 4:4 8:1 4:-1 s:a.i32 4:9 4:5 8:2 4:-1 4:7 "
    "s:a.f32 4:9 4:6 8:3 f:0.5 f:-1.25 f:3 s:a.bool 4:9 4:7 8:2 1:0 1:1 "
    "s:a.text 4:9 4:8 8:3 s:one 8:0 s:three s:a.u64 4:9 4:10 8:1 8:-1 s:a.f64 4:9 4:12 8:2 d:0.25 d:1e300 "
    "s:a.none 4:9 4:8 8:0 "
    "s:z.weight 4:2 8:3 8:2 4:0 8:0 s:a.weight 4:2 8:32 8:2 4:8 8:32 s:m.bias 4:4 8:1 8:1 8:5 8:1 4:30 8:128 "
    "a:32 f:1 f:2 f:3 f:4 f:5 f:6 a:32 z:66 1:9 1:8 a:32 r:0123456789";

static inline void build_all_kinds(struct bytes *b, int version)
{
    bytes_build(b, version == 2 ? "r:GGUF 4:2 " : "r:GGUF 4:3 ");
    bytes_build(b, all_kinds);
}

#endif
