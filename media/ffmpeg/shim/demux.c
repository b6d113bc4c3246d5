// Containers: all packets of a file.
#include "shim.h"

#include <errno.h>
#include <libavutil/display.h>
#include <libavutil/intreadwrite.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Formats that a file of its own can have. Others name further files, which nobody has asked for.
#define FORMATS                                                                                                                \
	"mov,matroska,avi,mpegts,mpeg,mpegvideo,flv,ogg,asf,wav,w64,aiff,au,caf,flac,mp3,aac,ac3,eac3,amr,amrnb,amrwb,wv,"      \
	"voc,iff,pvf,avr,epaf,ircam,nistsphere,tta,dts,"                                                                    \
	"h264,hevc,m4v,vc1,ivf,av1,obu,gif,dv,mxf,nut,yuv4mpegpipe"

// A file, and what it lies in.
typedef struct {
	hr_av_file file;
	hr_av_track *track;
	hr_av_part *part;
	uint8_t *extra;
	uint8_t *window; // of the file, where a packet may be
	size_t part_room, extra_room, window_room;
} held;

// What is read: bytes in memory, or a file that is open. Whoever maps a file dies if somebody makes it shorter, so it is read.
typedef struct {
	const uint8_t *data; // NULL: it is a file
	int fd;
	int64_t from; // where it begins in the file
	int64_t size, at;
	int failed; // the system's number of an error of reading
	int cut;    // the file is shorter than it was
} source;

// read_at returns how many bytes it has read, or an error.
static int read_at(source *s, int64_t at, uint8_t *to, int n) {
	if (n > s->size - at)
		n = (int)(s->size - at);
	if (n <= 0)
		return 0;
	if (s->data != NULL) {
		memcpy(to, s->data + at, n);
		return n;
	}
	ssize_t got;
	do
		got = pread(s->fd, to, n, s->from + at);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		s->failed = errno;
		return AVERROR(errno);
	}
	s->cut |= got == 0;
	return (int)got;
}

static int read_source(void *from, uint8_t *to, int n) {
	source *s = from;
	int got = read_at(s, s->at, to, n);
	if (got > 0)
		s->at += got;
	return got == 0 ? AVERROR_EOF : got;
}

static int64_t seek_source(void *in, int64_t to, int whence) {
	source *s = in;
	switch (whence & ~AVSEEK_FORCE) {
	case AVSEEK_SIZE:
		return s->size;
	case SEEK_CUR:
		to += s->at;
		break;
	case SEEK_END:
		to += s->size;
	}
	if (to < 0 || to > s->size)
		return AVERROR(EINVAL);
	return s->at = to;
}

static int refuse(AVFormatContext *f, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
	(void)f, (void)io, (void)url, (void)flags, (void)options;
	return AVERROR(EPERM);
}

AVFormatContext *hr_container(AVIOContext *io) {
	AVFormatContext *f = io != NULL ? avformat_alloc_context() : NULL;
	if (f == NULL)
		return NULL;
	f->pb = io;
	f->io_open = refuse;
	f->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_GENPTS;
	f->format_whitelist = av_strdup(FORMATS);
	f->protocol_whitelist = av_strdup("none");
	return f;
}

// FFmpeg knows a transport stream by a dozen packets. Of fewer it takes what is in them for a program stream, in which AAC is MP2. NULL: it may tell.
const AVInputFormat *hr_short_transport(AVIOContext *io) {
	enum { packet = 188, most = 8192 };
	int64_t size = avio_size(io);
	if (size < packet || size > most)
		return NULL;
	uint8_t b[most];
	int n = avio_read(io, b, sizeof b);
	int all = 1, table = 0; // the list of programs, of which one is needed
	for (int at = 0; at + packet <= n; at += packet) {
		all &= b[at] == 0x47;
		table |= (AV_RB16(b + at + 1) & 0x1FFF) == 0;
	}
	return avio_seek(io, 0, SEEK_SET) >= 0 && all && table ? av_find_input_format("mpegts") : NULL;
}

void hr_forget(hr_av_file *file) {
	held *h = (held *)file;
	if (h == NULL)
		return;
	for (int32_t i = 0; i < h->file.tracks; i++)
		free((void *)h->track[i].config);
	free(h->track);
	free(h->part);
	free(h->extra);
	free(h->window);
	free(h);
}

// grow makes room for so many more, at least doubling it. Returns NULL if there is none.
static void *grow(void *what, size_t *room, size_t have, size_t more, size_t each) {
	if (have + more <= *room)
		return what;
	size_t want = have + more > 2 * *room ? have + more : 2 * *room;
	if (want < 256)
		want = 256;
	void *new = realloc(what, want * each);
	if (new != NULL)
		*room = want;
	return new;
}

static const int32_t *display_matrix(const AVStream *s) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)
	const AVPacketSideData *d = av_packet_side_data_get(s->codecpar->coded_side_data, s->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
	return d != NULL && d->size >= 9 * 4 ? (const int32_t *)d->data : NULL;
#else
	size_t size = 0;
	const uint8_t *d = av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &size);
	return d != NULL && size >= 9 * 4 ? (const int32_t *)d : NULL;
#endif
}

// FFmpeg says that a file is cut off, and goes on as if it had come to its end.
int hr_cut(void) { return strstr(hr_said, "partial file") != NULL || strstr(hr_said, "prematurely") != NULL; }

int64_t hr_time(int64_t t) { return t == AV_NOPTS_VALUE ? HR_AV_NO_TIME : t; }

// What it keeps is its own, for FFmpeg's memory goes with the call.
int hr_tell_track(const AVFormatContext *f, const AVStream *s, hr_av_track *to) {
	const AVCodecParameters *c = s->codecpar;
	int result = hr_tell_parameters(c, s->time_base, to);
	if (result < 0)
		return result;
	to->id = s->id;
	if (s->disposition & AV_DISPOSITION_DEFAULT)
		to->flags |= HR_AV_TRACK_DEFAULT;
	if (s->disposition & AV_DISPOSITION_ATTACHED_PIC)
		to->flags |= HR_AV_TRACK_COVER;
	if (!hr_tells_pictures(c->codec_id))
		to->flags |= HR_AV_TRACK_GUESSED;
	const AVDictionaryEntry *language = av_dict_get(s->metadata, "language", NULL, 0);
	if (language != NULL)
		snprintf(to->language, sizeof to->language, "%s", language->value);
	to->start = hr_time(s->start_time);
	to->duration = hr_time(s->duration);
	AVRational aspect = s->sample_aspect_ratio.num ? s->sample_aspect_ratio : c->sample_aspect_ratio;
	to->aspect[0] = aspect.num;
	to->aspect[1] = aspect.den;
	AVRational rate = hr_is_bare(f) ? s->r_frame_rate : s->avg_frame_rate; // the average of times that are guessed
	to->rate[0] = rate.num;
	to->rate[1] = rate.den;
	const int32_t *matrix = display_matrix(s);
	if (matrix != NULL) {
		to->flags |= HR_AV_TRACK_TURNED;
		memcpy(to->matrix, matrix, sizeof to->matrix);
	}
	return 0;
}

// Some containers tell where the packet's own head begins: then its bytes are a little behind.
enum { most_head = 64 };

// NOWHERE is the place of a packet that the container has in pieces.
#define NOWHERE INT64_MIN

// place_of returns where a packet's bytes are in the file, or NOWHERE, or an error.
static int64_t place_of(held *h, source *s, const AVPacket *p) {
	if (p->pos < 0 || p->pos > s->size)
		return NOWHERE;
	int64_t n = s->size - p->pos;
	if (n > (int64_t)p->size + most_head)
		n = (int64_t)p->size + most_head;
	const uint8_t *data;
	if (s->data != NULL) {
		data = s->data + p->pos;
	} else {
		uint8_t *window = grow(h->window, &h->window_room, 0, n, 1);
		if (window == NULL)
			return AVERROR(ENOMEM);
		h->window = window;
		int64_t have = 0;
		while (have < n) {
			int got = read_at(s, p->pos + have, window + have, (int)(n - have));
			if (got < 0)
				return got;
			if (got == 0)
				break;
			have += got;
		}
		data = window;
		n = have;
	}
	for (int64_t at = 0; at < most_head && at + p->size <= n; at++)
		if (memcmp(data + at, p->data, p->size) == 0)
			return p->pos + at;
	return NOWHERE;
}

// tell_part keeps where a packet's bytes are in the file, or the bytes, if the container has them in pieces.
static int tell_part(held *h, source *s, enum AVCodecID codec, const AVPacket *p) {
	void *room = grow(h->part, &h->part_room, h->file.parts, 1, sizeof *h->part);
	if (room == NULL)
		return AVERROR(ENOMEM);
	h->part = room;
	hr_av_part *to = &h->part[h->file.parts];
	*to = (hr_av_part){
		.pts = hr_time(p->pts), .dts = hr_time(p->dts), .duration = p->duration, .size = p->size, .track = p->stream_index,
	};
	hr_tell_flags(p, &to->flags, &to->skip, &to->cut);
	hr_tell_picture(codec, p, &to->flags);

	int64_t place = place_of(h, s, p);
	if (place < 0 && place != NOWHERE)
		return (int)place;
	if (place >= 0) {
		to->offset = place;
		h->file.parts++;
		return 0;
	}
	room = grow(h->extra, &h->extra_room, h->file.extra_size, p->size, 1);
	if (room == NULL)
		return AVERROR(ENOMEM);
	h->extra = room;
	if (p->size > 0)
		memcpy(h->extra + h->file.extra_size, p->data, p->size);
	to->offset = s->size + h->file.extra_size;
	h->file.extra_size += p->size;
	h->file.parts++;
	return 0;
}

// Damaged files may have packets without end: more bytes than a file holds, or a packet for less than 4 of them, are none.
static int endless(const held *h, size_t size) { return h->file.parts > size / 4 + 4096 || h->file.extra_size > 2 * size + (1 << 20); }

// A stream of pictures without a container has no times. Its pictures have numbers in the order of display, which begin again with key pictures.
typedef struct {
	AVCodecParserContext *parser;
	AVCodecContext *codec;
} numbers;

int hr_is_bare(const AVFormatContext *f) { return strcmp(f->iformat->name, "h264") == 0 || strcmp(f->iformat->name, "hevc") == 0; }

static int open_numbers(numbers *n, const AVFormatContext *f) {
	if (!hr_is_bare(f) || f->nb_streams != 1)
		return 0;
	const AVCodecParameters *c = f->streams[0]->codecpar;
	n->parser = av_parser_init(c->codec_id);
	n->codec = avcodec_alloc_context3(NULL);
	if (n->parser == NULL || n->codec == NULL)
		return AVERROR(ENOMEM);
	n->parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
	return avcodec_parameters_to_context(n->codec, c);
}

// number has a packet's time of display be its number.
static void number(numbers *n, AVPacket *p) {
	if (n->parser == NULL)
		return;
	uint8_t *out;
	int size;
	av_parser_parse2(n->parser, n->codec, &out, &size, p->data, p->size, AV_NOPTS_VALUE, AV_NOPTS_VALUE, 0);
	p->pts = n->parser->output_picture_number;
	p->dts = AV_NOPTS_VALUE;
}

static int read_all(held *h, AVFormatContext *f, source *s) {
	numbers order = {0};
	unsigned tracks = f->nb_streams; // more may turn up, but not in AVI
	AVPacket **waits = calloc(tracks + 1, sizeof *waits);
	int result = waits == NULL ? AVERROR(ENOMEM) : open_numbers(&order, f);
	for (unsigned i = 0; i < tracks && result >= 0; i++)
		if (hr_is_packed(f, f->streams[i]) && (waits[i] = av_packet_alloc()) == NULL)
			result = AVERROR(ENOMEM);
	AVPacket *p = result < 0 ? NULL : av_packet_alloc();
	if (result >= 0 && p == NULL)
		result = AVERROR(ENOMEM);
	while (result >= 0 && (result = av_read_frame(f, p)) >= 0) {
		unsigned track = p->stream_index;
		h->file.cut |= hr_cut();
		number(&order, p);
		if (track < tracks && waits[track] != NULL)
			result = hr_unpack(waits[track], p);
		if (result >= 0 && track < f->nb_streams && p->size >= 0)
			result = tell_part(h, s, f->streams[track]->codecpar->codec_id, p);
		av_packet_unref(p);
		if (result >= 0 && endless(h, s->size))
			result = AVERROR_INVALIDDATA;
	}
	h->file.cut |= hr_cut();
	av_packet_free(&p);
	av_parser_close(order.parser);
	avcodec_free_context(&order.codec);
	for (unsigned i = 0; waits != NULL && i < tracks; i++)
		av_packet_free(&waits[i]);
	free(waits);
	return result == AVERROR_EOF ? 0 : result;
}

static int tell_file(held *h, AVFormatContext *f) {
	snprintf(h->file.format, sizeof h->file.format, "%s", f->iformat->name);
	h->file.duration = hr_time(f->duration);
	h->track = calloc(f->nb_streams + 1, sizeof *h->track);
	if (h->track == NULL)
		return AVERROR(ENOMEM);
	for (unsigned i = 0; i < f->nb_streams; i++) {
		h->file.tracks = i + 1;
		int result = hr_tell_track(f, f->streams[i], &h->track[i]);
		if (result < 0)
			return result;
	}
	h->file.track = h->track;
	h->file.part = h->part;
	h->file.extra = h->extra;
	return 0;
}

static int demux(hr_av_file **to, source *s, char *error) {
	enum { buffer = 1 << 15 };
	hr_said[0] = 0;
	*to = NULL;
	held *h = calloc(1, sizeof *h);
	uint8_t *room = av_malloc(buffer);
	AVIOContext *io = room != NULL ? avio_alloc_context(room, buffer, 0, s, read_source, NULL, seek_source) : NULL;
	AVFormatContext *f = hr_container(io);
	int result = AVERROR(ENOMEM);
	if (h == NULL || f == NULL || io == NULL) {
		if (io == NULL)
			av_free(room);
		avformat_free_context(f);
		goto done;
	}

	int64_t allowed = hr_allow(s->size);
	result = avformat_open_input(&f, NULL, hr_short_transport(io), NULL); // on failure it frees f
	if (result >= 0)
		result = avformat_find_stream_info(f, NULL);
	if (result >= 0)
		result = read_all(h, f, s);
	if (result >= 0)
		result = tell_file(h, f); // what parsers have found out on the way is in it
	avformat_close_input(&f);
	hr_disallow(allowed);
done:
	if (io != NULL) {
		av_freep(&io->buffer);
		avio_context_free(&io);
	}
	if (result < 0 || s->cut || s->failed != 0) {
		hr_forget(h != NULL ? &h->file : NULL);
		if (s->failed != 0) {
			snprintf(error, HR_AV_TEXT, "%s", strerror(s->failed));
			return HR_AV_SYSTEM - s->failed;
		}
		if (s->cut)
			return hr_told(HR_AV_CORRUPT, error, "the file was made shorter while it was read", "");
		return hr_failed(result, error);
	}
	*to = &h->file;
	return 0;
}

int hr_demux(hr_av_file **to, const uint8_t *data, size_t size, char *error) {
	static const uint8_t none[1];
	source s = {.data = data != NULL ? data : none, .size = (int64_t)size};
	return demux(to, &s, error);
}

int hr_demux_file(hr_av_file **to, int fd, int64_t from, int64_t size, char *error) {
	source s = {.fd = fd, .from = from, .size = size};
	return demux(to, &s, error);
}
