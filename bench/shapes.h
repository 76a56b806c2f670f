/* The products of the policies at their published sizes: rows, output channels, input channels. One view (SmolVLA: also
 * two and three) and a short instruction; a step of a denoising loop counts once, parts that are made once at load not
 * at all. A shape of several policies stands once for each. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

typedef struct bench_shape {
    const char *model, *what;
    int m, n, k;
} bench_shape;

/* A tower of SigLIP So400m's size, and the layers of GR00T's language models and action heads. */
#define SO400M(model)                                                                                                  \
    { model, "vision patch", 256, 1152, 588 }, { model, "vision q k v o", 256, 1152, 1152 },                           \
        { model, "vision fc1", 256, 4304, 1152 },                                                                      \
    {                                                                                                                  \
        model, "vision fc2", 256, 1152, 4304                                                                           \
    }
#define QWEN3(model, rows)                                                                                             \
    { model, "text q o", rows, 2048, 2048 }, { model, "text k v", rows, 1024, 2048 },                                  \
        { model, "text gate up", rows, 6144, 2048 },                                                                   \
    {                                                                                                                  \
        model, "text down", rows, 2048, 6144                                                                           \
    }
#define GR00T_HEAD(model, rows, horizon, action, context)                                                              \
    { model, "head cross k v", context, 1536, 2048 }, { model, "head q k v o", rows, 1536, 1536 },                     \
        { model, "head fc1", rows, 6144, 1536 }, { model, "head fc2", rows, 1536, 6144 },                              \
        { model, "head out", rows, 1024, 1536 }, { model, "action in", horizon, 1536, action },                        \
        { model, "action in 2", horizon, 1536, 3072 }, { model, "action in 3", horizon, 1536, 1536 },                  \
        { model, "action out", horizon, 1024, 1024 }, { model, "action out 2", horizon, action, 1024 },                \
    {                                                                                                                  \
        model, "state", 1, 1536, 1024                                                                                  \
    }
#define QWEN3_TOWER(model)                                                                                             \
    { model, "vision patch", 256, 1024, 1536 }, { model, "vision qkv", 256, 3072, 1024 },                              \
        { model, "vision o", 256, 1024, 1024 }, { model, "vision fc1", 256, 4096, 1024 },                              \
        { model, "vision fc2", 256, 1024, 4096 }, { model, "merger fc1", 64, 4096, 4096 },                             \
    {                                                                                                                  \
        model, "merger fc2", 64, 2048, 4096                                                                            \
    }
#define SMOLLM2(rows)                                                                                                  \
    { "smolvla", "text q o", rows, 960, 960 }, { "smolvla", "text k v", rows, 320, 960 },                              \
        { "smolvla", "text gate up", rows, 2560, 960 }, { "smolvla", "text down", rows, 960, 2560 },                   \
    {                                                                                                                  \
        "smolvla", "cross k v", rows, 320, 320                                                                         \
    }
#define GEMMA(model, rows)                                                                                             \
    { model, "text q o", rows, 2048, 2048 }, { model, "text k v", rows, 256, 2048 },                                   \
        { model, "text gate up", rows, 16384, 2048 },                                                                  \
    {                                                                                                                  \
        model, "text down", rows, 2048, 16384                                                                          \
    }
#define GEMMA_EXPERT(model, rows)                                                                                      \
    { model, "expert q", rows, 2048, 1024 }, { model, "expert k v", rows, 256, 1024 },                                 \
        { model, "expert o", rows, 1024, 2048 }, { model, "expert gate up", rows, 4096, 1024 },                        \
        { model, "expert down", rows, 1024, 4096 }, { model, "action in", 50, 1024, 32 },                              \
    {                                                                                                                  \
        model, "action out", 50, 32, 1024                                                                              \
    }
#define DUAL_TOWER(model)                                                                                              \
    SO400M(model), { model, "vision qkv", 256, 3456, 1152 }, { model, "DINOv2 patch", 256, 1024, 588 },                \
        { model, "DINOv2 qkv", 261, 3072, 1024 }, { model, "DINOv2 o", 261, 1024, 1024 },                              \
        { model, "DINOv2 fc1", 261, 4096, 1024 }, { model, "DINOv2 fc2", 261, 1024, 4096 },                            \
    {                                                                                                                  \
        model, "projector fc1", 256, 8704, 2176                                                                        \
    }

static const bench_shape bench_shapes[] = {
    { "smolvla", "vision q k v o", 1024, 768, 768 },
    { "smolvla", "vision fc1", 1024, 3072, 768 },
    { "smolvla", "vision fc2", 1024, 768, 3072 },
    { "smolvla", "connector", 64, 960, 12288 },
    SMOLLM2(81),
    SMOLLM2(145),
    SMOLLM2(209),
    { "smolvla", "expert q", 50, 960, 720 },
    { "smolvla", "expert k v", 50, 320, 720 },
    { "smolvla", "expert o", 50, 720, 960 },
    { "smolvla", "expert gate up", 50, 2048, 720 },
    { "smolvla", "expert down", 50, 720, 2048 },
    { "smolvla", "action in", 50, 720, 32 },
    { "smolvla", "action mlp", 50, 720, 720 },
    { "smolvla", "action out", 50, 32, 720 },
    { "smolvla", "state", 1, 960, 32 },

    SO400M("pi0"),
    { "pi0", "projector", 256, 2048, 1152 },
    GEMMA("pi0", 276),
    GEMMA_EXPERT("pi0", 51),
    { "pi0", "action mlp", 50, 1024, 1024 },
    { "pi0", "state", 1, 1024, 32 },

    SO400M("pi05"),
    { "pi05", "projector", 256, 2048, 1152 },
    GEMMA("pi05", 305),
    GEMMA_EXPERT("pi05", 50),

    SO400M("gr00t_n1_5"),
    { "gr00t_n1_5", "connector", 256, 2048, 1152 },
    QWEN3("gr00t_n1_5", 272),
    { "gr00t_n1_5", "vl fc1", 272, 8192, 2048 },
    { "gr00t_n1_5", "vl fc2", 272, 2048, 8192 },
    GR00T_HEAD("gr00t_n1_5", 49, 16, 32, 272),

    SO400M("gr00t_n1_6"),
    { "gr00t_n1_6", "connector fc1", 64, 2048, 4608 },
    { "gr00t_n1_6", "connector fc2", 64, 2048, 2048 },
    QWEN3("gr00t_n1_6", 80),
    GR00T_HEAD("gr00t_n1_6", 51, 50, 128, 64),
    { "gr00t_n1_6", "head cross k v, text", 16, 1536, 2048 },

    QWEN3_TOWER("gr00t_n1_7"),
    QWEN3("gr00t_n1_7", 80),
    { "gr00t_n1_7", "vl fc1", 80, 8192, 2048 },
    { "gr00t_n1_7", "vl fc2", 80, 2048, 8192 },
    GR00T_HEAD("gr00t_n1_7", 41, 40, 132, 64),
    { "gr00t_n1_7", "head cross k v, text", 16, 1536, 2048 },

    DUAL_TOWER("openvla_oft"),
    { "openvla_oft", "projector fc2", 256, 4096, 8704 },
    { "openvla_oft", "projector fc3", 256, 4096, 4096 },
    { "openvla_oft", "text q k v o", 330, 4096, 4096 },
    { "openvla_oft", "text gate up", 330, 11008, 4096 },
    { "openvla_oft", "text down", 330, 4096, 11008 },
    { "openvla_oft", "head fc1", 8, 4096, 28672 },
    { "openvla_oft", "head blocks", 8, 4096, 4096 },
    { "openvla_oft", "head fc2", 8, 7, 4096 },
    { "openvla_oft", "state", 1, 4096, 4096 },

    DUAL_TOWER("vla_adapter"),
    { "vla_adapter", "projector fc2", 256, 896, 8704 },
    { "vla_adapter", "projector fc3, head task k v", 256, 896, 896 },
    { "vla_adapter", "text q o", 337, 896, 896 },
    { "vla_adapter", "text k v", 337, 128, 896 },
    { "vla_adapter", "text gate up", 337, 4864, 896 },
    { "vla_adapter", "text down", 337, 896, 4864 },
    { "vla_adapter", "head adapter k v", 65, 896, 896 },
    { "vla_adapter", "head q k v o fc", 8, 896, 896 },
    { "vla_adapter", "head fc2", 8, 7, 896 },
    { "vla_adapter", "state", 1, 896, 896 },

    { "evo1", "vision patch", 1024, 1024, 588 },
    { "evo1", "vision qkv", 1025, 3072, 1024 },
    { "evo1", "vision o", 1025, 1024, 1024 },
    { "evo1", "vision fc1", 1025, 4096, 1024 },
    { "evo1", "vision fc2", 1025, 1024, 4096 },
    { "evo1", "projector fc1", 256, 896, 4096 },
    { "evo1", "projector fc2", 256, 896, 896 },
    { "evo1", "text q o", 275, 896, 896 },
    { "evo1", "text k v", 275, 128, 896 },
    { "evo1", "text gate up", 275, 4864, 896 },
    { "evo1", "text down", 275, 896, 4864 },
    { "evo1", "head context k v", 276, 896, 896 },
    { "evo1", "head q o", 50, 896, 896 },
    { "evo1", "head fc1", 50, 3584, 896 },
    { "evo1", "head fc2", 50, 896, 3584 },
    { "evo1", "action in", 50, 896, 24 },
    { "evo1", "head pool", 1, 896, 44800 },
    { "evo1", "action out", 1, 1024, 896 },
    { "evo1", "action out 2", 1, 1200, 1024 },

    SO400M("bitvla"),
    { "bitvla", "connector fc1", 256, 2560, 1152 },
    { "bitvla", "connector fc2", 256, 2560, 2560 },
    { "bitvla", "text q o", 369, 2560, 2560 },
    { "bitvla", "text k v", 369, 640, 2560 },
    { "bitvla", "text gate up", 369, 6912, 2560 },
    { "bitvla", "text down", 369, 2560, 6912 },
    { "bitvla", "head fc1", 8, 2560, 17920 },
    { "bitvla", "head blocks", 8, 2560, 2560 },
    { "bitvla", "head fc2", 8, 7, 2560 },
    { "bitvla", "state", 1, 2560, 2560 },

    QWEN3_TOWER("vla_jepa"),
    QWEN3("vla_jepa", 159),
    { "vla_jepa", "head cross k v", 32, 768, 2048 },
    { "vla_jepa", "head q k v o", 40, 768, 768 },
    { "vla_jepa", "head fc1", 40, 3072, 768 },
    { "vla_jepa", "head fc2", 40, 768, 3072 },
    { "vla_jepa", "head out", 40, 1024, 768 },
    { "vla_jepa", "action in", 7, 768, 7 },
    { "vla_jepa", "action in 2", 7, 768, 1536 },
    { "vla_jepa", "action in 3", 7, 768, 768 },
    { "vla_jepa", "action out", 7, 1024, 1024 },
    { "vla_jepa", "action out 2", 7, 7, 1024 },
    { "vla_jepa", "state", 1, 768, 1024 },
};
enum { BENCH_SHAPES = sizeof bench_shapes / sizeof *bench_shapes };

#endif
