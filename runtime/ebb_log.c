/* SPDX-License-Identifier: MIT */
#include "ebb_private.h"

int ebb_log(ebb_runtime *rt, ebb_log_level level, const char *message,
            const ebb_value *fields)
{
    char *text = NULL;

    (void)rt;
    if (ebb_value_size(fields) > 0) {
        text = ebb_value_write(fields, EBB_WRITE_SORTED, NULL);
        if (text == NULL)
            return -1;
    }
    ebb_log_write(level, "%s%s%s", message, text != NULL ? " " : "",
                  text != NULL ? text : "");
    ebb_mem_free(text);
    return 0;
}
