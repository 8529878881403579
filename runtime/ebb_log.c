/* SPDX-License-Identifier: MIT */
#include "ebb_private.h"

#include <string.h>

#include "base/utf8.h"

int ebb_log(ebb_runtime *rt, ebb_log_level level, const char *message,
            const ebb_value *fields)
{
    char *words = ebb_utf8_dup(message, strlen(message)), *text = NULL;

    (void)rt;
    if (ebb_value_size(fields) > 0)
        text = ebb_value_write(fields, EBB_WRITE_SORTED, NULL);
    if (words == NULL || (text == NULL && ebb_value_size(fields) > 0)) {
        ebb_mem_free(words);
        ebb_mem_free(text);
        return -1;
    }
    ebb_log_write(level, "%s%s%s", words, text != NULL ? " " : "",
                  text != NULL ? text : "");
    ebb_mem_free(words);
    ebb_mem_free(text);
    return 0;
}
