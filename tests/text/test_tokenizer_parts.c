/* Every component and option of tokenizer.json that is read, in small vocabularies; ids are those of the Python package
 * tokenizers 0.23.3. */
#include "text/cases.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_components_do_what_the_original_does(void **state)
{
    (void)state;
    json_t *parts = load_json(TEST_DATA "/tokenizer_parts.json");
    assert_int_equal(json_array_size(parts), 65);
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        vact_tokenizer *t = parse_tokenizer(json_object_get(part, "tokenizer"));
        check_cases(t, json_string_value(json_object_get(part, "name")), json_object_get(part, "cases"));
        vact_tokenizer_close(&t);
    }
    json_decref(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_components_do_what_the_original_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
