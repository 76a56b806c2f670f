// The public header is all that a strict C++17 program needs.
#include "vact.h"
#include <string_view>

int main()
{
    vact_model *model = nullptr;
    vact_error err{};
    if (vact_model_open(&model, "/nonexistent.gguf", nullptr, &err) != VACT_EIO || model != nullptr)
        return 1;
    vact_model_close(&model);
    const std::string_view text = err.text;
    return vact_version() == std::string_view(VACT_VERSION) && text.find("/nonexistent.gguf") != text.npos ? 0 : 1;
}
