// Which options may open files. FFmpeg opens those of filters and encoders itself, or has libraries open them, where nothing in between can refuse it.
#define _GNU_SOURCE // strcasestr
#include "shim.h"

#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <string.h>
#include <strings.h>

// FFmpeg has no type for paths: they are texts, and its own description says which are of files or of what is loaded.
static int is_told(const AVOption *o) {
	static const char *const words[] = {"file", "path", "director", "librar", "plugin", "model", "shader", "script", "font", "command", "address", "url"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasestr(o->name, words[i]) != NULL || (o->help != NULL && strcasestr(o->help, words[i]) != NULL))
			return 1;
	return 0;
}

// Several names of an option have one place, and not all are described.
// A name of something that nobody describes may be that of a plugin.
static int is_file(const AVClass *class, const AVOption *o) {
	int described = 0;
	for (const AVOption *other = NULL; (other = av_opt_next(&class, other)) != NULL;) {
		if (other->type == AV_OPT_TYPE_CONST || other->offset != o->offset)
			continue;
		if (is_told(other))
			return 1;
		described |= other->help != NULL && other->help[0] != 0;
	}
	return !described && strstr(o->name, "name") != NULL;
}

static int is_path(const char *value) {
	return value[0] == '/' || value[0] == '~' || strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0 || strstr(value, "/../") != NULL ||
	       strstr(value, "://") != NULL || strncmp(value, "file:", 5) == 0;
}

int hr_may_open(const AVClass *class, const char *key, const char *value) {
	const AVOption *o = class != NULL ? av_opt_find(&class, key, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ) : NULL;
	if (o == NULL)
		return 0;
	if (o->type == AV_OPT_TYPE_DICT) // options of a library, which nobody here knows
		return 1;
	return o->type == AV_OPT_TYPE_STRING && (is_file(class, o) || is_path(value));
}

// Options as in "name=value:name=value"; of filters names may be left out, and follow from the order.
int hr_opens_files(const AVClass *class, const char *options, int filter, char *named, size_t room) {
	const AVOption *next = NULL;
	int ordered = filter, found = 0;
	while (options != NULL && *options != 0 && !found) {
		char *key = NULL, *value = NULL;
		if (av_opt_get_key_value(&options, "=", ":", ordered ? AV_OPT_FLAG_IMPLICIT_KEY : 0, &key, &value) < 0)
			return 0; // FFmpeg will not read it either
		if (*options != 0)
			options++;
		const char *name = key;
		if (key == NULL) {
			int before = next != NULL ? next->offset : -1;
			while ((next = class != NULL ? av_opt_next(&class, next) : NULL) != NULL && (next->type == AV_OPT_TYPE_CONST || next->offset == before)) {
			}
			name = next != NULL ? next->name : "";
		} else {
			ordered = 0;
		}
		found = hr_may_open(class, name, value);
		if (!found && !filter && strchr(value, '=') != NULL) { // options within an option
			const AVOption *o = class != NULL ? av_opt_find(&class, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ) : NULL;
			found = o != NULL && o->type == AV_OPT_TYPE_STRING;
		}
		if (found)
			snprintf(named, room, "%s", name);
		av_free(key);
		av_free(value);
	}
	return found;
}

static int told(char *error, const char *what, const char *name, const char *option) {
	snprintf(error, HR_AV_TEXT, "the option %.60s of the %s %.60s may open a file", option, what, name);
	return HR_AV_UNSUPPORTED;
}

int hr_files(int32_t kind, const char *name, const char *options, char *error) {
	char option[64];
	if (kind == HR_AV_OF_GRAPH)
		return hr_graph_files(options, error);
	if (kind == HR_AV_OF_ENCODER) {
		const AVCodec *c = hr_encoder_named(name);
		if (c != NULL && (hr_opens_files(c->priv_class, options, 0, option, sizeof option) || hr_opens_files(avcodec_get_class(), options, 0, option, sizeof option)))
			return told(error, "encoder", c->name, option);
		return 0;
	}
	const AVOutputFormat *f = av_guess_format(name, NULL, NULL);
	if (f != NULL && (hr_opens_files(f->priv_class, options, 0, option, sizeof option) || hr_opens_files(avformat_get_class(), options, 0, option, sizeof option)))
		return told(error, "container", f->name, option);
	return 0;
}
