/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_entry.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/service/envd/envd_path.h"

#include <string.h>
#include <sys/stat.h>

void ebb_envd_permissions(uint32_t mode, char out[16])
{
    static const char letters[] = "rwxrwxrwx";
    char *p = out;
    int i;

    if (S_ISDIR(mode))
        *p++ = 'd';
    if (S_ISLNK(mode))
        *p++ = 'L';
    if (S_ISBLK(mode) || S_ISCHR(mode))
        *p++ = 'D';
    if (S_ISFIFO(mode))
        *p++ = 'p';
    if (S_ISSOCK(mode))
        *p++ = 'S';
    if (mode & S_ISUID)
        *p++ = 'u';
    if (mode & S_ISGID)
        *p++ = 'g';
    if (S_ISCHR(mode))
        *p++ = 'c';
    if (mode & S_ISVTX)
        *p++ = 't';
    if (p == out)
        *p++ = '-';
    for (i = 0; i < 9; i++)
        *p++ = (char)(mode & (1u << (8 - i)) ? letters[i] : '-');
    *p = '\0';
}

static void add_text(void *context, const char *text, size_t n)
{
    ebb_buf_add(context, text, n);
}

/* A copy that is UTF-8, of any bytes. */
static char *text_of(const char *bytes, size_t n)
{
    ebb_utf8 decoder;
    ebb_buf text;

    if (ebb_utf8_valid(bytes, n))
        return ebb_mem_dup_n(bytes, n);
    ebb_buf_init(&text, 0);
    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, bytes, n, add_text, &text);
    ebb_utf8_finish(&decoder, add_text, &text);
    if (text.failed)
        ebb_buf_clear(&text);
    return ebb_buf_take(&text);
}

static Filesystem__FileType type_of(uint32_t mode)
{
    if (S_ISREG(mode))
        return FILESYSTEM__FILE_TYPE__FILE_TYPE_FILE;
    if (S_ISDIR(mode))
        return FILESYSTEM__FILE_TYPE__FILE_TYPE_DIRECTORY;
    return FILESYSTEM__FILE_TYPE__FILE_TYPE_UNSPECIFIED;
}

/* Takes "key\0value\0…\0" apart; what is not UTF-8 is left out. */
static int read_metadata(ebb_envd_entry *out, const char *pairs)
{
    size_t n = 0, count = 0;
    char *at;

    while (pairs[n] != '\0')
        n += strlen(pairs + n) + 1;
    if (n == 0)
        return 0;
    at = out->metadata_text = ebb_mem_dup_n(pairs, n);
    if (!at)
        return -1;
    while (*at && count < EBB_ENVD_METADATA_MAX) {
        char *key = at, *value = key + strlen(key) + 1;

        if (value >= out->metadata_text + n)
            break; /* a key without a value */
        at = value + strlen(value) + 1;
        if (!ebb_utf8_valid(key, strlen(key)) ||
            !ebb_utf8_valid(value, strlen(value)))
            continue;
        filesystem__entry_info__metadata_entry__init(&out->metadata[count]);
        out->metadata[count].key = key;
        out->metadata[count].value = value;
        out->metadata_list[count] = &out->metadata[count];
        count++;
    }
    out->info.n_metadata = count;
    out->info.metadata = out->metadata_list;
    return 0;
}

/* A link shows its target's type and mode, and its own permissions. */
static void set_mode(ebb_envd_entry *out, const ebb_box_entry *entry)
{
    uint32_t mode = S_ISLNK(entry->mode) ? entry->target_mode : entry->mode;

    out->info.type = type_of(mode);
    out->info.mode = mode & 0777;
    ebb_envd_permissions(entry->mode, out->permissions);
    out->info.permissions = out->permissions;
}

int ebb_envd_entry_init(ebb_envd_entry *out, const ebb_box_entry *entry,
                        const char *path, ebb_err *err)
{
    size_t n;
    const char *name = ebb_envd_path_base(path, &n);

    memset(out, 0, sizeof *out);
    filesystem__entry_info__init(&out->info);
    google__protobuf__timestamp__init(&out->modified);
    out->strings[0] = out->info.name = text_of(name, n);
    out->strings[1] = out->info.path = text_of(path, strlen(path));
    out->strings[3] = out->info.owner =
        text_of(entry->owner, strlen(entry->owner));
    out->strings[4] = out->info.group =
        text_of(entry->group, strlen(entry->group));
    if (!out->strings[0] || !out->strings[1] || !out->strings[3] ||
        !out->strings[4] ||
        (entry->metadata && read_metadata(out, entry->metadata) != 0))
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for an entry");
    if (S_ISLNK(entry->mode)) {
        const char *target =
            entry->target_mode != 0 && entry->target ? entry->target : path;

        out->strings[2] = text_of(target, strlen(target));
        if (!out->strings[2])
            return ebb_err_set(err, EBB_NO_MEMORY, "no memory for an entry");
        out->info._symlink_target_case =
            FILESYSTEM__ENTRY_INFO___SYMLINK_TARGET_SYMLINK_TARGET;
        out->info.symlink_target = out->strings[2];
    }
    set_mode(out, entry);
    if (S_ISREG(entry->mode) || S_ISDIR(entry->mode) || S_ISLNK(entry->mode))
        out->info.size = entry->size;
    out->modified.seconds = entry->mtime_s;
    out->modified.nanos = (int32_t)entry->mtime_ns;
    out->info.modified_time = &out->modified;
    return 0;
}

void ebb_envd_entry_clear(ebb_envd_entry *entry)
{
    size_t i;

    for (i = 0; i < sizeof entry->strings / sizeof entry->strings[0]; i++)
        ebb_mem_free(entry->strings[i]);
    ebb_mem_free(entry->metadata_text);
    memset(entry, 0, sizeof *entry);
}
