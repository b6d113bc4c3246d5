// The shim between hrav.h and FFmpeg, 5.1 and later. scripts/ffmpeg.sh compiles it; cgo does not see this folder.
#include "shim.h"

#include <libavutil/intreadwrite.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hr_av_decoder {
	AVCodecContext *codec;
	AVPacket *packet;
	AVFrame *frame;

	AVBufferRef *data; // of all packets in hand
	hr_av_packet *packets;
	int32_t room, count, at, last;
	int64_t before; // packets that came before these
	int64_t allowed;
};

_Thread_local char hr_said[HR_AV_TEXT / 2];

static void hear(void *who, int level, const char *format, va_list args) {
	int prefix = 1;
	if (level <= AV_LOG_ERROR && format != NULL) {
		av_log_format_line2(NULL, level, format, args, hr_said, sizeof hr_said, &prefix);
		hr_said[strcspn(hr_said, "\r\n")] = 0;
	}
	(void)who;
}

static int result_of(int error) {
	switch (error) {
	case AVERROR(ENOMEM):
		return HR_AV_MEMORY;
	case AVERROR(ENOSYS):
	case AVERROR_PATCHWELCOME:
	case AVERROR_DECODER_NOT_FOUND:
	case AVERROR_ENCODER_NOT_FOUND:
	case AVERROR_MUXER_NOT_FOUND:
	case AVERROR_BSF_NOT_FOUND:
	case AVERROR_FILTER_NOT_FOUND:
		return HR_AV_UNSUPPORTED;
	case AVERROR(ENOSPC):
	case AVERROR(EFBIG):
	case AVERROR(EDQUOT): // EIO is what demuxers say of damage
		return HR_AV_SYSTEM - AVUNERROR(error);
	}
	return HR_AV_CORRUPT;
}

int hr_failed(int error, char *text) {
	char meaning[AV_ERROR_MAX_STRING_SIZE];
	if (av_strerror(error, meaning, sizeof meaning) < 0)
		snprintf(meaning, sizeof meaning, "error %d", error);
	snprintf(text, HR_AV_TEXT, "%s%s%s", meaning, hr_said[0] ? ": " : "", hr_said);
	return result_of(error);
}

int hr_told(int result, char *text, const char *what, const char *name) {
	snprintf(text, HR_AV_TEXT, "%s%.100s", what, name);
	return result;
}

// ── What the library is

static const char *version(void) { return av_version_info(); }

static size_t decoders(char *names, size_t room) {
	size_t at = 0;
	void *place = NULL;
	for (const AVCodec *c; (c = av_codec_iterate(&place)) != NULL;) {
		const char *name = avcodec_get_name(c->id);
		size_t n = strlen(name);
		if (!av_codec_is_decoder(c) || avcodec_find_decoder(c->id) != c || c->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_EXPERIMENTAL))
			continue;
		if (at + n + 2 <= room) {
			memcpy(names + at, name, n);
			names[at + n] = ' ';
		}
		at += n + 1;
	}
	if (at < room)
		names[at] = 0;
	return at + 1;
}

// ── Opening and closing

static void close_decoder(hr_av_decoder *d) {
	if (d == NULL)
		return;
	avcodec_free_context(&d->codec);
	hr_disallow(d->allowed);
	av_packet_free(&d->packet);
	av_frame_free(&d->frame);
	av_buffer_unref(&d->data);
	free(d->packets);
	free(d);
}

// By the name of the format, as in "h264", or that of one decoder, as in "libdav1d".
static const AVCodec *decoder_of(const char *name) {
	const AVCodecDescriptor *format = avcodec_descriptor_get_by_name(name);
	return format != NULL ? avcodec_find_decoder(format->id) : avcodec_find_decoder_by_name(name);
}

static void set_channels(AVCodecContext *c, int n) {
	if (n <= 0)
		return;
#if HAS_LAYOUTS
	c->ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
	c->ch_layout.nb_channels = n;
#else
	c->channels = n;
#endif
}

// The band of Speex that its head names, or 0 for the narrow one and other codecs. FFmpeg 7.1.5 takes frames of wider bands for twice as long as they
// are, if it has the head; without, it goes by the rate, which is that of the band.
static int speex_band(const AVCodecContext *c, const uint8_t *head, size_t size) {
	enum { least = 80, mode = 40 };
	return c->codec_id == AV_CODEC_ID_SPEEX && size >= least && (head[mode] == 1 || head[mode] == 2) ? 8000 << head[mode] : 0;
}

// Frames of damaged references are withheld, never shown grey: AV_CODEC_FLAG_OUTPUT_CORRUPT stays out. Silence is not cut off by the decoder, which does
// not know where in the recording it is.
static int set(AVCodecContext *c, const hr_av_stream *s, const uint8_t *config, size_t size) {
	c->thread_count = 1;
	c->flags &= ~AV_CODEC_FLAG_OUTPUT_CORRUPT;
	c->flags |= AV_CODEC_FLAG_UNALIGNED;
	c->flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL;
	// FLAC and TTA say of each frame whether it is damaged: it is an error then, and not noise.
	c->err_recognition = c->codec_id == AV_CODEC_ID_FLAC || c->codec_id == AV_CODEC_ID_TTA ? AV_EF_CRCCHECK | AV_EF_EXPLODE : AV_EF_CRCCHECK;
	c->idct_algo = FF_IDCT_SIMPLE; // the one that gives the same pixels on x86-64 and arm64
	c->width = c->coded_width = s->width;
	c->height = c->coded_height = s->height;
	if (s->reorder > 0)
		c->has_b_frames = s->reorder;
	if (s->matrix > 0)
		c->colorspace = s->matrix;
	if (s->primaries > 0)
		c->color_primaries = s->primaries;
	if (s->transfer > 0)
		c->color_trc = s->transfer;
	c->color_range = s->range;
	c->chroma_sample_location = s->siting;
	if (s->max_pixels > 0)
		c->max_pixels = s->max_pixels;
	c->codec_tag = s->tag;
	c->sample_rate = s->rate;
	c->block_align = s->block;
	c->bit_rate = s->bit_rate;
	c->bits_per_coded_sample = s->bits;
	set_channels(c, s->channels);
	const int band = speex_band(c, config, size);
	if (band > 0)
		c->sample_rate = band;
	if (size == 0 || band > 0)
		return 0;
	c->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
	if (c->extradata == NULL)
		return AVERROR(ENOMEM);
	memcpy(c->extradata, config, size);
	c->extradata_size = (int)size;
	return 0;
}

// Those that make other frames of a file than it has, or that undo a limit.
static int is_ours(const char *option) {
	static const char *const names[] = {"skip_frame", "max_pixels", "max_samples", "codec_whitelist", "lowres"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(option, names[i]) == 0)
			return 1;
	return 0;
}

// Of decoders that need a device. A machine without it has them, too.
enum { machines = AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID };

// without_decoder names the decoders that could be used in place of one that cannot.
static int without_decoder(enum AVCodecID id, const char *codec, const char *name, int exists, char *error) {
	char all[HR_AV_TEXT / 2] = "";
	size_t at = 0;
	void *place = NULL;
	for (const AVCodec *c; (c = av_codec_iterate(&place)) != NULL;)
		if (c->id == id && av_codec_is_decoder(c) && !(c->capabilities & machines) && at < sizeof all)
			at += snprintf(all + at, sizeof all - at, "%s%s", at > 0 ? ", " : "", c->name);
	snprintf(error, HR_AV_TEXT, exists ? "the decoder %.40s cannot be used for %.40s: choose one of %s" : "there is no decoder %.40s: %.40s is decoded by %s", name, codec, all);
	return HR_AV_UNSUPPORTED;
}

// FFmpeg reads numbers as expressions, such as 0x100, 2k or 1e6*2, which are more than their first digits.
static int is_count(const char *text, long most) {
	size_t n = strspn(text, "0123456789");
	return strcmp(text, "auto") == 0 || (n > 0 && n < 9 && text[n] == 0 && atol(text) <= most);
}

int hr_bound_threads(const AVDictionary *options, const char *who, char *error) {
	enum { most = 64 }; // each holds frames
	const AVDictionaryEntry *e = NULL;
	while ((e = av_dict_get(options, "", e, AV_DICT_IGNORE_SUFFIX)) != NULL)
		if (strstr(e->key, "threads") != NULL && !is_count(e->value, most)) {
			snprintf(error, HR_AV_TEXT, "%s may have 64 threads, in plain digits, not %.60s", who, e->value);
			return HR_AV_UNSUPPORTED;
		}
	return 0;
}

// options_of reads options, and refuses those that this opens nothing with.
static int options_of(AVDictionary **to, const AVCodec *codec, const char *options, char *error) {
	char named[64];
	int result = av_dict_parse_string(to, options, "=", ":", 0);
	if (result < 0)
		return hr_told(HR_AV_UNSUPPORTED, error, "options of a decoder must be as in name=value:name=value, not ", options);
	if ((result = hr_bound_threads(*to, "a decoder", error)) < 0)
		return result;
	const AVDictionaryEntry *e = NULL;
	while ((e = av_dict_get(*to, "", e, AV_DICT_IGNORE_SUFFIX)) != NULL)
		if (is_ours(e->key))
			return hr_told(HR_AV_UNSUPPORTED, error, "frames are exact, and limits stay: leave out the option ", e->key);
	if (hr_opens_files(codec->priv_class, options, 0, named, sizeof named) || hr_opens_files(avcodec_get_class(), options, 0, named, sizeof named)) {
		snprintf(error, HR_AV_TEXT, "the option %.60s of the decoder %.60s may open a file", named, codec->name);
		return HR_AV_UNSUPPORTED;
	}
	return 0;
}

static int open_codec(AVCodecContext *c, const AVCodec *codec, AVDictionary **options, char *error) {
	int result = avcodec_open2(c, codec, options);
	const AVDictionaryEntry *left = av_dict_get(*options, "", NULL, AV_DICT_IGNORE_SUFFIX);
	if (result >= 0 && left != NULL) {
		snprintf(error, HR_AV_TEXT, "the decoder %s has no option %.100s", codec->name, left->key);
		return HR_AV_UNSUPPORTED;
	}
	return result < 0 ? hr_failed(result, error) : 0;
}

static int open_named(hr_av_decoder **to, const char *name, const char *chosen, const char *options, const hr_av_stream *s, const uint8_t *config, size_t size, char *error) {
	hr_said[0] = 0;
	*to = NULL;
	if (size > 1 << 26)
		return hr_told(HR_AV_CORRUPT, error, "configuration of more than 64 MiB for ", name);
	const AVCodec *codec = decoder_of(name);
	if (codec == NULL) {
		snprintf(error, HR_AV_TEXT, "version %s has no decoder for %.100s; HEADRACE_FFMPEG chooses another (headrace doctor)", av_version_info(), name[0] ? name : "it");
		return HR_AV_UNSUPPORTED;
	}
	if (codec->type != (s->audio ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO))
		return hr_told(HR_AV_UNSUPPORTED, error, s->audio ? "no codec of sound: " : "no codec of pictures: ", name);
	if (chosen[0] != 0) {
		const AVCodec *other = avcodec_find_decoder_by_name(chosen);
		if (other == NULL || other->id != codec->id || other->capabilities & machines)
			return without_decoder(codec->id, name, chosen, other != NULL, error);
		codec = other;
	}
	AVDictionary *given = NULL;
	int result = options_of(&given, codec, options, error);
	if (result < 0) {
		av_dict_free(&given);
		return result;
	}

	hr_av_decoder *d = calloc(1, sizeof *d);
	if (d == NULL) {
		av_dict_free(&given);
		return hr_failed(AVERROR(ENOMEM), error);
	}
	enum { pixel = 32 }; // four channels of floats, and as much again
	d->allowed = hr_allow((int64_t)s->width * s->height * pixel);
	d->codec = avcodec_alloc_context3(codec);
	d->packet = av_packet_alloc();
	d->frame = av_frame_alloc();
	result = AVERROR(ENOMEM);
	if (d->codec != NULL && d->packet != NULL && d->frame != NULL)
		result = set(d->codec, s, config, size);
	result = result == 0 ? open_codec(d->codec, codec, &given, error) : hr_failed(result, error);
	av_dict_free(&given);
	if (result == 0 && s->rate > 0)
		d->codec->sample_rate = s->rate;
	if (result < 0) {
		close_decoder(d);
		return result;
	}
	*to = d;
	return 0;
}

static int open_decoder(hr_av_decoder **to, const char *name, const hr_av_stream *s, const uint8_t *config, size_t size, char *error) {
	return open_named(to, name, "", "", s, config, size, error);
}

// ── Packets

static int feed(hr_av_decoder *d, const uint8_t *data, size_t size, const hr_av_packet *packets, int32_t count, int32_t last, char *error) {
	if (d->at < d->count || d->last)
		return hr_told(HR_AV_MISUSE, error, "packets came before those in hand were used up", "");

	size_t all = AV_INPUT_BUFFER_PADDING_SIZE;
	for (int32_t i = 0; i < count; i++) {
		if (packets[i].size > INT32_MAX / 2 || packets[i].offset > size || packets[i].size > size - packets[i].offset)
			return hr_told(HR_AV_MISUSE, error, "a packet lies outside its data", "");
		all += packets[i].size + AV_INPUT_BUFFER_PADDING_SIZE;
	}
	if (count > d->room) {
		hr_av_packet *room = realloc(d->packets, count * sizeof *room);
		if (room == NULL)
			return hr_failed(AVERROR(ENOMEM), error);
		d->packets = room;
		d->room = count;
	}
	av_buffer_unref(&d->data);
	d->before += d->count;
	d->count = d->at = 0;
	d->data = av_buffer_alloc(all);
	if (d->data == NULL)
		return hr_failed(AVERROR(ENOMEM), error);

	size_t at = 0;
	for (int32_t i = 0; i < count; i++) {
		d->packets[i] = packets[i];
		d->packets[i].offset = at;
		memcpy(d->data->data + at, data + packets[i].offset, packets[i].size);
		memset(d->data->data + at + packets[i].size, 0, AV_INPUT_BUFFER_PADDING_SIZE);
		at += packets[i].size + AV_INPUT_BUFFER_PADDING_SIZE;
	}
	d->count = count;
	d->last = last;
	return 0;
}

// In the place of a time each packet has its number, so that a frame tells which packet it is of, whatever the container hr_said, and whether it is wanted.
static int64_t token(const hr_av_decoder *d, int32_t i) { return (d->before + i) << 1 | (d->packets[i].flags & HR_AV_UNWANTED); }

static int send_next(hr_av_decoder *d) {
	if (d->at == d->count)
		return avcodec_send_packet(d->codec, NULL);
	const hr_av_packet *p = &d->packets[d->at];
	AVPacket *to = d->packet;
	to->pts = to->dts = token(d, d->at++);
	if (p->size == 0) // which would be the end
		return 0;
	to->buf = av_buffer_ref(d->data);
	if (to->buf == NULL)
		return AVERROR(ENOMEM);
	to->data = d->data->data + p->offset;
	to->size = (int)p->size;
	to->flags = p->flags & HR_AV_KEY ? AV_PKT_FLAG_KEY : 0; // decoders of PNG add others to the picture before
	int result = avcodec_send_packet(d->codec, to);
	av_packet_unref(to);
	return result;
}

static void flush(hr_av_decoder *d) {
	avcodec_flush_buffers(d->codec);
	av_frame_unref(d->frame);
	av_buffer_unref(&d->data);
	d->count = d->at = d->last = 0;
	d->before = 0;
}

// ── Frames

static void tell(const hr_av_decoder *d, hr_av_frame *to) {
	const AVFrame *f = d->frame;
	hr_tell_frame(f, d->codec->codec_type == AVMEDIA_TYPE_AUDIO, to);
	to->packet = f->pts == AV_NOPTS_VALUE ? -1 : f->pts >> 1;
}

// The first block of Vorbis has none before it to be added to, so it is no sound yet. FFmpeg
// 7 hands it out and says that all of it is to be skipped; older ones keep it.
static int is_half(const hr_av_decoder *d) {
	if (d->codec->codec_id != AV_CODEC_ID_VORBIS)
		return 0;
	const AVFrameSideData *skip = av_frame_get_side_data(d->frame, AV_FRAME_DATA_SKIP_SAMPLES);
	return skip != NULL && skip->size >= 4 && AV_RL32(skip->data) >= (uint32_t)d->frame->nb_samples;
}

static int next(hr_av_decoder *d, hr_av_frame *to, int64_t *packet, char *error) {
	for (;;) {
		hr_said[0] = 0;
		int result = avcodec_receive_frame(d->codec, d->frame);
		if (result == 0) {
			// What refers to a picture that was patched up is damaged, and nothing says so of it: so patched ones are told.
			if (d->frame->pts != AV_NOPTS_VALUE && d->frame->pts & HR_AV_UNWANTED &&
				(d->codec->codec_type != AVMEDIA_TYPE_VIDEO || d->frame->decode_error_flags == 0))
				continue;
			if (is_half(d))
				continue;
			tell(d, to);
			return HR_AV_FRAME;
		}
		if (result == AVERROR_EOF)
			return HR_AV_END;
		if (result == AVERROR(EAGAIN)) {
			if (d->at == d->count && !d->last)
				return HR_AV_NEEDS;
			result = send_next(d);
		}
		if (result < 0) {
			*packet = d->before + d->at - 1;
			return hr_failed(result, error);
		}
	}
}

// It is found by its name, and so it is not hidden.
extern const hr_av hr_av_1 __attribute__((visibility("default")));
const hr_av hr_av_1 = {
	.size = sizeof(hr_av),
	.major = LIBAVCODEC_VERSION_MAJOR,
	.version = version,
	.license = avcodec_license,
	.configuration = avcodec_configuration,
	.decoders = decoders,
	.open = open_decoder,
	.feed = feed,
	.next = next,
	.flush = flush,
	.close = close_decoder,
	.demux = hr_demux,
	.forget = hr_forget,
	.reader_open = hr_reader_open,
	.reader_read = hr_reader_read,
	.reader_seek = hr_reader_seek,
	.reader_close = hr_reader_close,
	.bitstream_open = hr_bitstream_open,
	.bitstream_push = hr_bitstream_push,
	.bitstream_pull = hr_bitstream_pull,
	.bitstream_close = hr_bitstream_close,
	.graph_open = hr_graph_open,
	.graph_outputs = hr_graph_outputs,
	.graph_pieces = hr_graph_pieces,
	.graph_push = hr_graph_push,
	.graph_pull = hr_graph_pull,
	.graph_raw = hr_graph_raw,
	.graph_close = hr_graph_close,
	.encoder_takes = hr_encoder_takes,
	.encoder_open = hr_encoder_open,
	.encoder_push = hr_encoder_push,
	.encoder_pull = hr_encoder_pull,
	.encoder_close = hr_encoder_close,
	.writer_open = hr_writer_open,
	.writer_add = hr_writer_add,
	.writer_begin = hr_writer_begin,
	.writer_write = hr_writer_write,
	.writer_finish = hr_writer_finish,
	.writer_close = hr_writer_close,
	.writer_format = hr_writer_format,
	.demux_file = hr_demux_file,
	.writer_like = hr_writer_like,
	.reader_only = hr_reader_only,
	.files = hr_files,
	.open_named = open_named,
	.raw_picture = hr_raw_picture,
};

// FFmpeg prints to the standard error otherwise, where an engine has nothing to print.
__attribute__((constructor)) static void begin(void) { av_log_set_callback(hear); }
