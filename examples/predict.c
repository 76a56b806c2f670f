/* The smallest program on libvact: one grey picture, three tokens, one action chunk.
 *
 *     cc predict.c $(pkg-config --cflags --libs vact) -o predict && ./predict model.gguf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vact.h>

int main(int argc, char **argv)
{
    vact_model *model = NULL;
    vact_session *session = NULL;
    vact_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: %s model.gguf\n", argv[0]);
        return 2;
    }
    if (vact_model_open(&model, argv[1], NULL, &err) != VACT_OK ||
        vact_session_open(&session, model, NULL, &err) != VACT_OK) {
        fprintf(stderr, "%s\n", err.text);
        vact_model_close(&model);
        return 1;
    }
    const vact_model_info *info = vact_model_get_info(model);
    const size_t bytes = 3 * (size_t)info->image_size * (size_t)info->image_size;
    unsigned char *pixels = malloc(bytes);
    float *actions = malloc((size_t)info->horizon * (size_t)info->action_dim * sizeof *actions);
    vact_status status = VACT_ENOMEM;
    if (pixels && actions) {
        memset(pixels, 128, bytes);
        const vact_image image = { pixels, info->image_size, info->image_size, VACT_RGB_U8 };
        const int32_t tokens[] = { 1, 2, 3 };
        const vact_request request = {
            .images = &image, .n_images = 1, .tokens = tokens, .n_tokens = 3, .has_seed = true, .seed = 7
        };
        vact_reply reply = { .actions = actions };
        status = vact_predict(session, &request, &reply, &err);
        for (int32_t i = 0; i < info->action_dim && status == VACT_OK; i++)
            printf("%g%c", (double)actions[i], i + 1 < info->action_dim ? ' ' : '\n');
    }
    if (status != VACT_OK)
        fprintf(stderr, "%s\n", err.text[0] ? err.text : vact_status_text(status));
    free(pixels);
    free(actions);
    vact_session_close(&session);
    vact_model_close(&model);
    return status == VACT_OK ? 0 : 1;
}
