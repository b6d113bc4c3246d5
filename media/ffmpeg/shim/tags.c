// Tags, chapters and dispositions, as one container has them and another gets them.
#include "shim.h"

#include <libavutil/avstring.h>
#include <string.h>

// What a container says of itself, or what somebody has counted in it, is not true of another.
static int is_its_own(const char *key) {
	static const char *const names[] = {"major_brand", "minor_version", "compatible_brands", "encoder", "duration", "bps", NULL};
	static const char *const begins[] = {"number_of_", "_statistics_", NULL};
	for (int i = 0; names[i] != NULL; i++) {
		size_t n = strlen(names[i]); // Matroska may have a language behind it: BPS-eng
		if (av_strncasecmp(key, names[i], n) == 0 && (key[n] == 0 || key[n] == '-'))
			return 1;
	}
	for (int i = 0; begins[i] != NULL; i++)
		if (av_strncasecmp(key, begins[i], strlen(begins[i])) == 0)
			return 1;
	return 0;
}

static int copy_tags(AVDictionary **to, const AVDictionary *from) {
	int result = 0;
	for (const AVDictionaryEntry *e = NULL; result >= 0 && (e = av_dict_get(from, "", e, AV_DICT_IGNORE_SUFFIX)) != NULL;)
		if (!is_its_own(e->key))
			result = av_dict_set(to, e->key, e->value, 0);
	return result;
}

static int add_chapter(AVFormatContext *to, const AVChapter *from, int64_t start, int64_t end) {
	AVChapter **all = av_realloc_array(to->chapters, to->nb_chapters + 1, sizeof *all);
	if (all == NULL)
		return AVERROR(ENOMEM);
	to->chapters = all;
	AVChapter *c = all[to->nb_chapters] = av_mallocz(sizeof *c);
	if (c == NULL)
		return AVERROR(ENOMEM);
	to->nb_chapters++;
	c->id = from->id;
	c->time_base = from->time_base;
	c->start = start;
	c->end = end;
	return copy_tags(&c->metadata, from->metadata);
}

// Times are in microseconds; of chapters that are in the window, what is outside is cut off.
static int copy_chapters(AVFormatContext *to, const AVFormatContext *from, int64_t begin, int64_t end) {
	int result = 0;
	for (unsigned i = 0; i < from->nb_chapters && result >= 0; i++) {
		const AVChapter *c = from->chapters[i];
		int64_t zero = begin != HR_AV_NO_TIME ? av_rescale_q(begin, AV_TIME_BASE_Q, c->time_base) : 0;
		int64_t until = end != HR_AV_NO_TIME ? av_rescale_q(end, AV_TIME_BASE_Q, c->time_base) : INT64_MAX;
		int64_t first = c->start, last = c->end < until ? c->end : until;
		if (begin != HR_AV_NO_TIME && first < zero)
			first = zero;
		if (first < last)
			result = add_chapter(to, c, first - zero, last - zero);
	}
	return result;
}

int hr_writer_like(hr_av_writer *w, const hr_av_reader *r, const int32_t *tracks, int64_t begin, int64_t end, char *error) {
	hr_said[0] = 0;
	AVFormatContext *to = hr_writer_container(w);
	const AVFormatContext *from = hr_reader_container(r);
	int result = copy_tags(&to->metadata, from->metadata);
	if (result >= 0)
		result = copy_chapters(to, from, begin, end);
	for (unsigned i = 0; i < to->nb_streams && result >= 0; i++) {
		if ((unsigned)tracks[i] >= from->nb_streams)
			return hr_told(HR_AV_MISUSE, error, "a track that is not in the file", "");
		const AVStream *s = from->streams[tracks[i]];
		to->streams[i]->disposition = s->disposition;
		result = copy_tags(&to->streams[i]->metadata, s->metadata);
	}
	return result < 0 ? hr_failed(result, error) : 0;
}
