/* A whole program on libvact: one camera picture, one sentence, one action chunk.
 *
 *     cc predict.c $(pkg-config --cflags --libs vact) -o predict
 *     ./predict model.gguf tokenizer.json front.png "pick up the black bowl"
 *
 * A checkpoint that carries its tokenizer needs no tokenizer.json: leave settings.tokenizer out. A camera's frame is a
 * vact_image of your own: {.data = frame, .width = 640, .height = 480}. */
#include <stdio.h>
#include <stdlib.h>
#include <vact.h>

static vact_status predict(vact_session *session, const vact_model_info *info, const vact_image *image,
                           const char *text, vact_error *err)
{
    float *actions = malloc((size_t)info->horizon * (size_t)info->action_dim * sizeof *actions);
    const vact_request request = { .images = image, .n_images = 1, .text = text, .has_seed = true, .seed = 7 };
    vact_reply reply = { .actions = actions };
    const vact_status status = actions ? vact_predict(session, &request, &reply, err) : VACT_ENOMEM;
    for (int32_t i = 0; i < info->action_dim && status == VACT_OK; i++) /* the first row of the chunk */
        printf("%g%c", (double)actions[i], i + 1 < info->action_dim ? ' ' : '\n');
    free(actions);
    return status;
}

int main(int argc, char **argv)
{
    vact_model *model = NULL;
    vact_session *session = NULL;
    vact_image image = { 0 };
    vact_error err;
    if (argc != 5) {
        fprintf(stderr, "usage: %s model.gguf tokenizer.json picture instruction\n", argv[0]);
        return 2;
    }
    vact_settings settings;
    vact_settings_default(&settings);
    settings.tokenizer = argv[2];
    vact_status status = vact_model_open(&model, argv[1], &settings, &err);
    if (status == VACT_OK)
        status = vact_session_open(&session, model, NULL, &err);
    if (status == VACT_OK)
        status = vact_image_load(&image, argv[3], &err);
    if (status == VACT_OK)
        status = predict(session, vact_model_get_info(model), &image, argv[4], &err);
    if (status != VACT_OK)
        fprintf(stderr, "%s\n", err.text[0] ? err.text : vact_status_text(status));
    vact_image_free(&image);
    vact_session_close(&session);
    vact_model_close(&model);
    return status == VACT_OK ? 0 : 1;
}
