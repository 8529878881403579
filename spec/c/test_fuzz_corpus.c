/* SPDX-License-Identifier: MIT */
/* What fuzzing found and started from stays right: spec/fuzz/corpus. */
#include "fuzz/targets.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/mem.h"

#define INPUT_BYTES_MAX ((size_t)1 << 20)

typedef struct target {
    const char *folder;
    void (*run)(const uint8_t *bytes, size_t n);
} target;

static void holds_for_its_corpus(void **state)
{
    const target *t = *state;
    DIR *folder = opendir(t->folder);
    const struct dirent *entry;
    int inputs = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        ebb_err err = { 0 };
        ebb_buf bytes;
        char *path;

        if (entry->d_name[0] == '.')
            continue;
        path = ebb_mem_printf("%s/%s", t->folder, entry->d_name);
        ebb_buf_init(&bytes, 0);
        if (ebb_fs_read(path, INPUT_BYTES_MAX, &bytes, &err) != 0)
            fail_msg("%s", err.msg);
        t->run((const uint8_t *)bytes.bytes, bytes.n);
        ebb_buf_clear(&bytes);
        ebb_mem_free(path);
        inputs++;
    }
    closedir(folder);
    assert_true(inputs > 0);
}

int main(void)
{
#define TARGET(name) { "spec/fuzz/corpus/" #name, ebb_fuzz_##name },
    static target targets[] = { EBB_FUZZ_TARGETS(TARGET) };
#undef TARGET
#define TEST(name)                                                             \
    { #name " holds for its corpus", holds_for_its_corpus, NULL, NULL, NULL },
    struct CMUnitTest tests[] = { EBB_FUZZ_TARGETS(TEST) };
#undef TEST

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tests[i].initial_state = &targets[i];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
