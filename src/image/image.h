/* Pictures as cameras and files give them -> the pixels that a policy's vision stage takes. Decoding JPEG and PNG is
 * public: vact_image_decode and vact_image_load in vact.h. */
#ifndef VACT_IMAGE_IMAGE_H
#define VACT_IMAGE_IMAGE_H

#include "vact.h"

/* A policy's own preprocessing: dst [size, size, 3] in [0, 1] from a picture of any size. */
typedef void (*vact_fit_fn)(float *dst, int32_t size, const vact_image *picture);

/* Shrunk or grown by one factor until it just fits (sides floored), bilinear with half-pixel centres, not antialiased;
 * what is left stays 0, on the left and on top.
 * Source: huggingface/lerobot, resize_with_pad of the SmolVLA policy. */
void vact_fit_pad_left_top(float *dst, int32_t size, const vact_image *picture);

/* What files call it (key vact.image_fit): "pad_left_top". */
const char *vact_fit_name(vact_fit_fn fit);

#endif
