// Frames: FFmpeg's as hrav.h has them, and the other way round.
#include "shim.h"

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>

// ── FFmpeg's, told

static int is_key(const AVFrame *f) {
#ifdef AV_FRAME_FLAG_KEY
	return (f->flags & AV_FRAME_FLAG_KEY) != 0;
#else
	return f->key_frame;
#endif
}

static int fields(const AVFrame *f) {
#ifdef AV_FRAME_FLAG_INTERLACED
	int interlaced = f->flags & AV_FRAME_FLAG_INTERLACED, top = f->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
	int interlaced = f->interlaced_frame, top = f->top_field_first;
#endif
	return interlaced ? HR_AV_IS_INTERLACED | (top ? HR_AV_IS_TOP_FIRST : 0) : 0;
}

// Formats whose samples cannot be found by steps alone are of the kind "other": palettes, bits, floats, other orders of bytes.
static int kind_of(const AVPixFmtDescriptor *p) {
	const uint64_t odd = AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
	int colours = p->nb_components > 2 ? 3 : 1;
	if (p->flags & odd || p->nb_components == 0 || strncmp(p->name, "xyz", 3) == 0)
		return HR_AV_OTHER;
	for (int i = 0; i < colours; i++)
		if (p->comp[i].depth != p->comp[0].depth || p->comp[i].depth < 8 || p->comp[i].depth + p->comp[i].shift > 16)
			return HR_AV_OTHER;
	return colours == 1 ? HR_AV_GRAY : p->flags & AV_PIX_FMT_FLAG_RGB ? HR_AV_RGB : HR_AV_YUV;
}

int64_t hr_raw_picture(const char *format, int32_t width, int32_t height, uint32_t *tag, char *error) {
	const enum AVPixelFormat f = av_get_pix_fmt(format);
	const AVPixFmtDescriptor *p = av_pix_fmt_desc_get(f);
	if (p == NULL)
		return hr_told(HR_AV_UNSUPPORTED, error, "there is no pixel format ", format);
	*tag = avcodec_pix_fmt_to_codec_tag(f);
	if (kind_of(p) == HR_AV_OTHER || *tag == 0)
		return hr_told(HR_AV_UNSUPPORTED, error, "raw frames are not read in this pixel format, so convert them with the ffmpeg command: ", format);
	int n = av_image_get_buffer_size(f, width, height, 1);
	return n > 0 ? n : hr_failed(n, error);
}

static void tell_picture(const AVFrame *f, hr_av_frame *to) {
	const AVPixFmtDescriptor *p = av_pix_fmt_desc_get(f->format);
	to->width = f->width;
	to->height = f->height;
	to->matrix = f->colorspace;
	to->primaries = f->color_primaries;
	to->transfer = f->color_trc;
	to->range = f->color_range;
	to->siting = f->chroma_location;
	to->aspect[0] = f->sample_aspect_ratio.num;
	to->aspect[1] = f->sample_aspect_ratio.den;
	to->flags |= fields(f);
	if (p == NULL)
		return;
	snprintf(to->format, sizeof to->format, "%s", p->name);
	if (strncmp(p->name, "yuvj", 4) == 0)
		to->range = HR_AV_FULL;
	to->kind = kind_of(p);
	to->chroma_x = p->log2_chroma_w;
	to->chroma_y = p->log2_chroma_h;
	for (int i = 0; i < 4; i++) {
		to->component[i] = (hr_av_component){p->comp[i].plane, p->comp[i].step, p->comp[i].offset, p->comp[i].shift, p->comp[i].depth};
		to->plane[i] = f->data[i];
		to->stride[i] = f->linesize[i];
	}
}

static int sample_of(int format) {
	switch ((int)av_get_packed_sample_fmt(format)) {
	case AV_SAMPLE_FMT_U8:
		return HR_AV_U8;
	case AV_SAMPLE_FMT_S16:
		return HR_AV_S16;
	case AV_SAMPLE_FMT_S32:
		return HR_AV_S32;
	case AV_SAMPLE_FMT_FLT:
		return HR_AV_F32;
	case AV_SAMPLE_FMT_DBL:
		return HR_AV_F64;
	case AV_SAMPLE_FMT_S64:
		return HR_AV_S64;
	}
	return -1;
}

static void tell_sound(const AVFrame *f, hr_av_frame *to) {
	const char *name = av_get_sample_fmt_name(f->format);
	snprintf(to->format, sizeof to->format, "%s", name != NULL ? name : "unknown");
	to->sample = sample_of(f->format);
	to->kind = to->sample >= 0 ? HR_AV_SOUND : HR_AV_OTHER;
	if (av_sample_fmt_is_planar(f->format))
		to->flags |= HR_AV_IS_PLANAR;
	to->samples = f->nb_samples;
	to->rate = f->sample_rate;
#if HAS_LAYOUTS
	to->channels = f->ch_layout.nb_channels;
	to->layout = f->ch_layout.order == AV_CHANNEL_ORDER_NATIVE ? f->ch_layout.u.mask : 0;
#else
	to->channels = f->channels;
	to->layout = f->channel_layout;
#endif
	to->channel = (const uint8_t *const *)f->extended_data;
}

void hr_tell_frame(const AVFrame *f, int audio, hr_av_frame *to) {
	memset(to, 0, sizeof *to);
	to->packet = -1;
	if (is_key(f))
		to->flags |= HR_AV_IS_KEY;
	if (f->flags & AV_FRAME_FLAG_CORRUPT || f->decode_error_flags != 0)
		to->flags |= HR_AV_IS_CORRUPT;
	if (audio)
		tell_sound(f, to);
	else
		tell_picture(f, to);
}

int64_t hr_raw_frame(const AVFrame *f, int audio, uint8_t *to, size_t room) {
	if (room > INT32_MAX)
		room = INT32_MAX;
	if (!audio) {
		int n = av_image_get_buffer_size(f->format, f->width, f->height, 1);
		if (to == NULL || n < 0 || (size_t)n > room)
			return n;
		return av_image_copy_to_buffer(to, (int)room, (const uint8_t *const *)f->data, f->linesize, f->format, f->width, f->height, 1);
	}
	int channels = f->ch_layout.nb_channels;
	int n = av_samples_get_buffer_size(NULL, channels, f->nb_samples, f->format, 1);
	if (to == NULL || n < 0 || (size_t)n > room)
		return n;
	int planes = av_sample_fmt_is_planar(f->format) ? channels : 1;
	for (int i = 0; i < planes; i++)
		memcpy(to + (size_t)i * (n / planes), f->extended_data[i], n / planes);
	return n;
}

// ── Made for FFmpeg

static void set_fields(AVFrame *to, int32_t flags) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
	to->flags |= flags & HR_AV_IS_INTERLACED ? AV_FRAME_FLAG_INTERLACED : 0;
	to->flags |= flags & HR_AV_IS_TOP_FIRST ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0;
#else
	to->interlaced_frame = (flags & HR_AV_IS_INTERLACED) != 0;
	to->top_field_first = (flags & HR_AV_IS_TOP_FIRST) != 0;
#endif
}

static int make_picture(AVFrame *to, const hr_av_frame *f, const uint8_t *raw, size_t size) {
	enum AVPixelFormat format = av_get_pix_fmt(f->format);
	if (format == AV_PIX_FMT_NONE)
		return AVERROR(EINVAL);
	int result = av_image_check_size2(f->width, f->height, 1 << 28, format, 0, NULL);
	if (result < 0)
		return result;
	to->format = format;
	to->width = f->width;
	to->height = f->height;
	to->colorspace = f->matrix;
	to->color_primaries = f->primaries;
	to->color_trc = f->transfer;
	to->color_range = f->range;
	to->chroma_location = f->siting;
	to->sample_aspect_ratio = (AVRational){f->aspect[0], f->aspect[1]};
	set_fields(to, f->flags);
	uint8_t *from[4] = {0};
	int lines[4] = {0};
	if (raw != NULL) {
		int needs = av_image_fill_arrays(from, lines, raw, format, f->width, f->height, 1);
		if (needs < 0 || (size_t)needs > size)
			return needs < 0 ? needs : AVERROR(EINVAL);
	} else
		for (int i = 0; i < 4; i++) {
			from[i] = (uint8_t *)f->plane[i];
			lines[i] = (int)f->stride[i];
		}
	if ((result = av_frame_get_buffer(to, 0)) < 0)
		return result;
	av_image_copy(to->data, to->linesize, (const uint8_t **)from, lines, format, f->width, f->height);
	return 0;
}

static int make_sound(AVFrame *to, const hr_av_frame *f, const uint8_t *raw, size_t size) {
	enum AVSampleFormat format = av_get_sample_fmt(f->format);
	if (format == AV_SAMPLE_FMT_NONE || f->channels <= 0 || f->channels > 64 || f->samples <= 0)
		return AVERROR(EINVAL);
	to->format = format;
	to->nb_samples = f->samples;
	to->sample_rate = f->rate;
	int result = hr_layout(&to->ch_layout, f->channels, f->layout);
	if (result < 0)
		return result;
	uint8_t *from[64] = {0};
	if (raw != NULL) {
		int line, needs = av_samples_fill_arrays(from, &line, raw, f->channels, f->samples, format, 1);
		if (needs < 0 || (size_t)needs > size)
			return needs < 0 ? needs : AVERROR(EINVAL);
	} else
		for (int i = 0; i < (av_sample_fmt_is_planar(format) ? f->channels : 1); i++)
			from[i] = (uint8_t *)f->channel[i];
	if ((result = av_frame_get_buffer(to, 0)) < 0)
		return result;
	return av_samples_copy(to->extended_data, from, 0, 0, f->samples, f->channels, format);
}

int hr_layout(AVChannelLayout *to, int channels, uint64_t mask) {
	av_channel_layout_uninit(to);
	if (mask == 0) {
		av_channel_layout_default(to, channels);
		return 0;
	}
	int result = av_channel_layout_from_mask(to, mask);
	return result == 0 && to->nb_channels != channels ? AVERROR(EINVAL) : result;
}

int hr_make_frame(AVFrame **to, const hr_av_frame *f, const uint8_t *raw, size_t size, int64_t pts) {
	*to = av_frame_alloc();
	if (*to == NULL)
		return AVERROR(ENOMEM);
	int result = f->channels > 0 ? make_sound(*to, f, raw, size) : make_picture(*to, f, raw, size);
	(*to)->pts = pts;
	if (result < 0)
		av_frame_free(to);
	return result < 0 ? result : 0;
}
