/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/tasks.h"

#include "e2b/client.h"
#include "e2b/tasks/fields.h"

static const struct {
    const char *name;
    ebb_retry_class retry_class;
    const ebb_e2b_fields *fields;
    int (*check)(const ebb_value *input, ebb_err *err); /* or NULL */
    ebb_attempt_fn *start;
    const char *help;
} tasks[] = {
    { "e2b.createSandbox", EBB_RETRY_LIFECYCLE, &ebb_e2b_fields_create,
      ebb_e2b_check_create, ebb_e2b_task_create,
      "find the key's sandbox, or create it" },
    { "e2b.getSandbox", EBB_RETRY_READ, &ebb_e2b_fields_get, NULL,
      ebb_e2b_task_get, "what a sandbox is and until when it lives" },
    { "e2b.pauseSandbox", EBB_RETRY_LIFECYCLE, &ebb_e2b_fields_pause, NULL,
      ebb_e2b_task_pause, "freeze a sandbox with its memory" },
    { "e2b.resumeSandbox", EBB_RETRY_LIFECYCLE, &ebb_e2b_fields_resume, NULL,
      ebb_e2b_task_resume, "wake a paused sandbox, or extend a running one" },
    { "e2b.killSandbox", EBB_RETRY_LIFECYCLE, &ebb_e2b_fields_kill, NULL,
      ebb_e2b_task_kill, "end a sandbox and everything in it" },
    { "e2b.runCommand", EBB_RETRY_NONE, &ebb_e2b_fields_command,
      ebb_e2b_check_command, ebb_e2b_task_command,
      "run a shell command, once" },
    { "e2b.runCode", EBB_RETRY_NONE, &ebb_e2b_fields_code, ebb_e2b_check_code,
      ebb_e2b_task_code, "run code in the sandbox's kernel, once" },
    { "e2b.writeFiles", EBB_RETRY_NONE, &ebb_e2b_fields_write,
      ebb_e2b_check_write, ebb_e2b_task_write, "write files, each whole" },
    { "e2b.readFile", EBB_RETRY_READ, &ebb_e2b_fields_read, ebb_e2b_check_read,
      ebb_e2b_task_read, "read one file, whole or not at all" },
    { "e2b.listFiles", EBB_RETRY_READ, &ebb_e2b_fields_list, NULL,
      ebb_e2b_task_list, "list one directory" },
    { "e2b.getSandboxLogs", EBB_RETRY_READ, &ebb_e2b_fields_logs,
      ebb_e2b_check_logs, ebb_e2b_task_logs, "read what a sandbox has logged" },
    { "e2b.getSandboxMetrics", EBB_RETRY_READ, &ebb_e2b_fields_metrics,
      ebb_e2b_check_metrics, ebb_e2b_task_metrics,
      "read a sandbox's use of CPU, memory and disk" },
};

int ebb_e2b_register(ebb_e2b *e2b, ebb_registry *registry, ebb_err *err)
{
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        ebb_task task = {
            .name = tasks[i].name,
            .retry_class = tasks[i].retry_class,
            .fields = tasks[i].fields->fields,
            .fields_count = tasks[i].fields->count,
            .check = tasks[i].check,
            .start = tasks[i].start,
            .help = tasks[i].help,
            .context = e2b,
        };
        if (ebb_registry_add(registry, &task, err) != 0)
            return -1;
    }
    return 0;
}
