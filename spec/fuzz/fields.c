/* SPDX-License-Identifier: MIT */
/*
 * A checked input stays as it is when it is checked again. The first byte
 * chooses one of the twelve tasks; the rest is its input, and also tried as
 * the description of a host's task.
 */
#include "targets.h"

#include "base/value.h"
#include "e2b/tasks/fields.h"

#define TASKS 12

static void check(const ebb_e2b_fields *task, const ebb_value *input)
{
    ebb_err err = { 0 };
    ebb_value *once, *twice;

    once = ebb_fields_check("e2b.task", task->fields, task->count, input, &err);
    if (once == NULL) {
        ebb_fuzz_hold(err.code == EBB_INVALID_INPUT ||
                          err.code == EBB_LIMIT_EXCEEDED,
                      "a refused input is the caller's error");
        return;
    }
    twice = ebb_fields_check("e2b.task", task->fields, task->count, once, &err);
    ebb_fuzz_hold(twice != NULL, "a checked input is right");
    ebb_fuzz_hold(ebb_value_equal(once, twice), "and stays as it is");
    ebb_value_free(once);
    ebb_value_free(twice);
}

static void describe(const ebb_value *description)
{
    ebb_err err = { 0 };
    size_t count = 0;
    ebb_field *fields = ebb_fields_parse(description, &count, &err);

    if (fields == NULL)
        return;
    ebb_value_free(ebb_fields_check("t", fields, count, NULL, &err));
    ebb_value_free(ebb_fields_describe(fields, count));
    ebb_fields_free(fields, count);
}

void ebb_fuzz_fields(const uint8_t *bytes, size_t n)
{
    static const ebb_e2b_fields *const tasks[TASKS] = {
        &ebb_e2b_fields_create, &ebb_e2b_fields_get,   &ebb_e2b_fields_pause,
        &ebb_e2b_fields_resume, &ebb_e2b_fields_kill,  &ebb_e2b_fields_command,
        &ebb_e2b_fields_code,   &ebb_e2b_fields_write, &ebb_e2b_fields_read,
        &ebb_e2b_fields_list,   &ebb_e2b_fields_logs,  &ebb_e2b_fields_metrics,
    };
    ebb_err err = { 0 };
    ebb_value *value;

    if (n == 0)
        return;
    value = ebb_value_parse((const char *)bytes + 1, n - 1, 10000, &err);
    if (value == NULL)
        return;
    check(tasks[bytes[0] % TASKS], value);
    describe(value);
    ebb_value_free(value);
}
