// Encoders.
#include "shim.h"

#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

struct hr_av_encoder {
	AVCodecContext *codec;
	AVPacket *packet;
	hr_av_track out;
	hr_side side;
	int64_t allowed;
};

// By the name of a format, as in "opus", of which the best is taken, or that of an encoder, as in "libopus".
static const AVCodec *encoder_of(const char *name) {
	const AVCodecDescriptor *format = avcodec_descriptor_get_by_name(name);
	const AVCodec *c = format != NULL ? avcodec_find_encoder(format->id) : NULL;
	if (c == NULL)
		c = avcodec_find_encoder_by_name(name);
	return c != NULL && !(c->capabilities & AV_CODEC_CAP_HARDWARE) ? c : NULL;
}

const AVCodec *hr_encoder_named(const char *name) { return encoder_of(name); }

static int missing(const char *name, char *error) {
	snprintf(error, HR_AV_TEXT, "version %s has no encoder for %.100s; HEADRACE_FFMPEG chooses another (headrace doctor)", av_version_info(), name);
	return HR_AV_UNSUPPORTED;
}

static void add(char *to, size_t room, const char *name) {
	size_t n = strlen(to);
	if (name != NULL && n + strlen(name) + 2 <= room)
		snprintf(to + n, room - n, "%s%s", n > 0 ? "|" : "", name);
}

static void takes(const AVCodec *c, char *formats, char *rates, size_t room) {
	const enum AVPixelFormat *pictures = NULL;
	const enum AVSampleFormat *samples = NULL;
	const int *hertz = NULL;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
	avcodec_get_supported_config(NULL, c, AV_CODEC_CONFIG_PIX_FORMAT, 0, (const void **)&pictures, NULL);
	avcodec_get_supported_config(NULL, c, AV_CODEC_CONFIG_SAMPLE_FORMAT, 0, (const void **)&samples, NULL);
	avcodec_get_supported_config(NULL, c, AV_CODEC_CONFIG_SAMPLE_RATE, 0, (const void **)&hertz, NULL);
#else
	pictures = c->pix_fmts;
	samples = c->sample_fmts;
	hertz = c->supported_samplerates;
#endif
	for (int i = 0; pictures != NULL && pictures[i] != AV_PIX_FMT_NONE; i++)
		add(formats, room, av_get_pix_fmt_name(pictures[i]));
	for (int i = 0; samples != NULL && samples[i] != AV_SAMPLE_FMT_NONE; i++)
		add(formats, room, av_get_sample_fmt_name(samples[i]));
	for (int i = 0; hertz != NULL && hertz[i] != 0; i++) {
		char number[16];
		snprintf(number, sizeof number, "%d", hertz[i]);
		add(rates, room, number);
	}
}

int hr_encoder_takes(const char *name, int32_t *audio, char *formats, char *rates, size_t room, char *error) {
	const AVCodec *c = encoder_of(name);
	if (c == NULL)
		return missing(name, error);
	*audio = c->type == AVMEDIA_TYPE_AUDIO;
	formats[0] = rates[0] = 0;
	takes(c, formats, rates, room);
	return 0;
}

void hr_encoder_close(hr_av_encoder *e) {
	if (e == NULL)
		return;
	avcodec_free_context(&e->codec);
	av_packet_free(&e->packet);
	hr_disallow(e->allowed);
	free((void *)e->out.config);
	free(e->side.bytes);
	free(e);
}

static int set(AVCodecContext *c, const hr_av_encoding *how) {
	const hr_av_port *from = &how->from;
	c->thread_count = 1;
	c->flags |= AV_CODEC_FLAG_BITEXACT;
	c->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
	c->time_base = (AVRational){from->unit[0], from->unit[1]};
	if (how->headers_apart)
		c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
	if (how->bit_rate >= 0)
		c->bit_rate = how->bit_rate;
	if (how->quality >= 0) {
		c->flags |= AV_CODEC_FLAG_QSCALE;
		c->global_quality = (int)(how->quality * FF_QP2LAMBDA);
	}
	if (from->audio) {
		c->sample_fmt = av_get_sample_fmt(from->format);
		c->sample_rate = from->rate;
		return hr_layout(&c->ch_layout, from->channels, from->layout);
	}
	c->pix_fmt = av_get_pix_fmt(from->format);
	c->width = from->width;
	c->height = from->height;
	c->framerate = (AVRational){from->frame_rate[0], from->frame_rate[1]};
	c->sample_aspect_ratio = (AVRational){from->aspect[0], from->aspect[1]};
	c->color_range = from->range;
	if (from->matrix > 0)
		c->colorspace = from->matrix;
	if (how->gop >= 0)
		c->gop_size = how->gop;
	if (how->b_frames >= 0)
		c->max_b_frames = how->b_frames;
	return 0;
}

int hr_encoder_open(hr_av_encoder **to, const hr_av_track **out, int32_t *samples, const char *name, const hr_av_encoding *how, const char *options, char *error) {
	hr_said[0] = 0;
	*to = NULL;
	const AVCodec *codec = encoder_of(name);
	if (codec == NULL)
		return missing(name, error);
	hr_av_encoder *e = calloc(1, sizeof *e);
	if (e == NULL)
		return hr_failed(AVERROR(ENOMEM), error);
	AVDictionary *given = NULL;
	AVCodecParameters *told = avcodec_parameters_alloc();
	enum { pixel = 192 }; // FFV1's room for a packet is the largest
	e->allowed = hr_allow((int64_t)how->from.width * how->from.height * pixel);
	e->codec = avcodec_alloc_context3(codec);
	e->packet = av_packet_alloc();
	int result = AVERROR(ENOMEM);
	if (e->codec != NULL && e->packet != NULL && told != NULL)
		result = set(e->codec, how);
	if (result >= 0)
		result = av_dict_parse_string(&given, options, "=", ":", 0);
	const int threads = hr_bound_threads(given, "an encoder", error);
	if (result >= 0 && threads >= 0)
		result = avcodec_open2(e->codec, codec, &given);
	const AVDictionaryEntry *left = av_dict_get(given, "", NULL, AV_DICT_IGNORE_SUFFIX);
	if (threads < 0) {
		result = threads;
	} else if (result >= 0 && left != NULL) {
		snprintf(error, HR_AV_TEXT, "the encoder %s has no option %.100s", codec->name, left->key);
		result = HR_AV_UNSUPPORTED;
	} else if (result < 0 || (result = avcodec_parameters_from_context(told, e->codec)) < 0 || (result = hr_tell_parameters(told, e->codec->time_base, &e->out)) < 0)
		result = hr_failed(result, error);
	av_dict_free(&given);
	avcodec_parameters_free(&told);
	if (result < 0) {
		hr_encoder_close(e);
		return result;
	}
	e->out.rate[0] = e->codec->framerate.num;
	e->out.rate[1] = e->codec->framerate.den;
	*samples = codec->capabilities & AV_CODEC_CAP_VARIABLE_FRAME_SIZE ? 0 : e->codec->frame_size;
	*to = e;
	*out = &e->out;
	return 0;
}

int hr_encoder_push(hr_av_encoder *e, const hr_av_frame *f, int64_t pts, char *error) {
	hr_said[0] = 0;
	AVFrame *frame = NULL;
	int result = f != NULL ? hr_make_frame(&frame, f, NULL, 0, pts) : 0;
	if (result >= 0 && frame != NULL && e->codec->flags & AV_CODEC_FLAG_QSCALE)
		frame->quality = e->codec->global_quality;
	if (result >= 0)
		result = avcodec_send_frame(e->codec, frame);
	av_frame_free(&frame);
	return result < 0 ? hr_failed(result, error) : 0;
}

int hr_encoder_pull(hr_av_encoder *e, hr_av_coded *to, char *error) {
	hr_said[0] = 0;
	av_packet_unref(e->packet);
	int result = avcodec_receive_packet(e->codec, e->packet);
	if (result == AVERROR(EAGAIN))
		return HR_AV_NEEDS;
	if (result == AVERROR_EOF)
		return HR_AV_END;
	if (result >= 0)
		result = hr_tell_packet(e->packet, &e->side, to);
	return result < 0 ? hr_failed(result, error) : HR_AV_FRAME;
}
