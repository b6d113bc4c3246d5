// Packets and parameters of codecs, on their own: FFmpeg's as hrav.h has them, and the other way round.
#include "shim.h"

#include <libavutil/intreadwrite.h>
#include <stdlib.h>
#include <string.h>

// ── Packets

// What is told otherwise, or is of this very reading of the file, is no side data.
static int is_kept(enum AVPacketSideDataType type) {
	return type != AV_PKT_DATA_SKIP_SAMPLES && type != AV_PKT_DATA_PRFT && type != AV_PKT_DATA_QUALITY_STATS && type != AV_PKT_DATA_CPB_PROPERTIES &&
	       type != AV_PKT_DATA_MPEGTS_STREAM_ID && av_packet_side_data_name(type) != NULL;
}

static int tell_side(const AVPacket *p, hr_side *side, hr_av_coded *to) {
	size_t needs = 0;
	for (int i = 0; i < p->side_data_elems; i++)
		if (is_kept(p->side_data[i].type))
			needs += strlen(av_packet_side_data_name(p->side_data[i].type)) + 5 + p->side_data[i].size;
	if (needs > side->room) {
		uint8_t *room = realloc(side->bytes, needs);
		if (room == NULL)
			return AVERROR(ENOMEM);
		side->bytes = room;
		side->room = needs;
	}
	uint8_t *at = side->bytes;
	for (int i = 0; i < p->side_data_elems; i++) {
		const AVPacketSideData *d = &p->side_data[i];
		if (!is_kept(d->type))
			continue;
		const char *name = av_packet_side_data_name(d->type);
		memcpy(at, name, strlen(name) + 1);
		at += strlen(name) + 1;
		AV_WL32(at, (uint32_t)d->size);
		if (d->size > 0)
			memcpy(at + 4, d->data, d->size);
		at += 4 + d->size;
	}
	to->side = side->bytes;
	to->side_size = needs;
	return 0;
}

void hr_tell_flags(const AVPacket *p, int32_t *flags, uint32_t *skip, uint32_t *cut) {
	if (p->flags & AV_PKT_FLAG_KEY)
		*flags |= HR_AV_PART_KEY;
	if (p->flags & AV_PKT_FLAG_DISCARD)
		*flags |= HR_AV_PART_DISCARD;
	if (p->flags & AV_PKT_FLAG_CORRUPT)
		*flags |= HR_AV_PART_CORRUPT;
	size_t n = 0;
	const uint8_t *samples = av_packet_get_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, &n);
	if (samples != NULL && n >= 8) {
		*skip = AV_RL32(samples);
		*cut = AV_RL32(samples + 4);
	}
}

int hr_tell_packet(const AVPacket *p, hr_side *side, hr_av_coded *to) {
	*to = (hr_av_coded){
		.pts = hr_time(p->pts), .dts = hr_time(p->dts), .duration = p->duration, .track = p->stream_index, .place = p->pos,
		.data = p->data, .size = p->size,
	};
	hr_tell_flags(p, &to->flags, &to->skip, &to->cut);
	return tell_side(p, side, to);
}

static enum AVPacketSideDataType type_of(const char *name) {
	for (int t = 0; t < 128; t++) {
		const char *known = av_packet_side_data_name(t);
		if (known != NULL && strcmp(known, name) == 0)
			return t;
	}
	return -1;
}

// Of side data nothing is believed: they may come from another machine.
static int make_side(AVPacket *to, const uint8_t *at, size_t left) {
	while (left > 0) {
		size_t name = strnlen((const char *)at, left);
		if (name == left || left - name < 5)
			return AVERROR_INVALIDDATA;
		size_t size = AV_RL32(at + name + 1);
		if (size > left - name - 5)
			return AVERROR_INVALIDDATA;
		enum AVPacketSideDataType type = type_of((const char *)at);
		// Those that are structures of FFmpeg's in memory have sizes of their own, which it does not check.
		if ((type == AV_PKT_DATA_NEW_EXTRADATA || type == AV_PKT_DATA_PALETTE || type == AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL) &&
			(type != AV_PKT_DATA_PALETTE || size == AVPALETTE_SIZE) && (type != AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL || size >= 8)) {
			uint8_t *room = av_packet_new_side_data(to, type, size);
			if (room == NULL)
				return AVERROR(ENOMEM);
			memcpy(room, at + name + 5, size);
		}
		at += name + 5 + size;
		left -= name + 5 + size;
	}
	return 0;
}

static int64_t time_of(int64_t t) { return t == HR_AV_NO_TIME ? AV_NOPTS_VALUE : t; }

int hr_make_packet(AVPacket *to, const hr_av_coded *p, const uint8_t *data, const uint8_t *side) {
	if (p->size > INT32_MAX / 2)
		return AVERROR(EINVAL);
	int result = av_new_packet(to, (int)p->size);
	if (result < 0)
		return result;
	if (p->size > 0)
		memcpy(to->data, data, p->size);
	to->pts = time_of(p->pts);
	to->dts = time_of(p->dts);
	to->duration = p->duration;
	to->stream_index = p->track;
	if (p->flags & HR_AV_PART_KEY)
		to->flags |= AV_PKT_FLAG_KEY;
	if (p->flags & HR_AV_PART_DISCARD)
		to->flags |= AV_PKT_FLAG_DISCARD;
	if (p->skip > 0 || p->cut > 0) {
		uint8_t *skip = av_packet_new_side_data(to, AV_PKT_DATA_SKIP_SAMPLES, 10);
		if (skip == NULL) {
			av_packet_unref(to);
			return AVERROR(ENOMEM);
		}
		memset(skip, 0, 10);
		AV_WL32(skip, p->skip);
		AV_WL32(skip + 4, p->cut);
	}
	if ((result = make_side(to, side, p->side_size)) < 0)
		av_packet_unref(to);
	return result;
}

// ── Parameters

int hr_tell_parameters(const AVCodecParameters *c, AVRational unit, hr_av_track *to) {
	memset(to, 0, sizeof *to);
	to->type = c->codec_type == AVMEDIA_TYPE_VIDEO ? HR_AV_TRACK_VIDEO : c->codec_type == AVMEDIA_TYPE_AUDIO ? HR_AV_TRACK_AUDIO : HR_AV_TRACK_OTHER;
	to->about = (hr_av_stream){
		.audio = c->codec_type == AVMEDIA_TYPE_AUDIO,
		.tag = c->codec_tag,
		.width = c->width,
		.height = c->height,
		.reorder = c->video_delay,
		.matrix = c->color_space,
		.primaries = c->color_primaries,
		.transfer = c->color_trc,
		.range = c->color_range,
		.siting = c->chroma_location,
		.rate = c->sample_rate,
#if HAS_LAYOUTS
		.channels = c->ch_layout.nb_channels,
#else
		.channels = c->channels,
#endif
		.block = c->block_align,
		// The encoder of TTA tells only the latter, and its header is written of them.
		.bits = c->codec_id == AV_CODEC_ID_TTA && c->bits_per_coded_sample == 0 ? c->bits_per_raw_sample : c->bits_per_coded_sample,
		.bit_rate = c->codec_type == AVMEDIA_TYPE_AUDIO ? c->bit_rate : 0,
	};
	if (c->codec_id != AV_CODEC_ID_NONE)
		snprintf(to->codec, sizeof to->codec, "%s", avcodec_get_name(c->codec_id));
	to->unit[0] = unit.num;
	to->unit[1] = unit.den;
	to->start = to->duration = HR_AV_NO_TIME;
	to->aspect[0] = c->sample_aspect_ratio.num;
	to->aspect[1] = c->sample_aspect_ratio.den;
	to->padding = c->initial_padding;
	if (c->extradata_size <= 0)
		return 0;
	uint8_t *config = malloc(c->extradata_size);
	if (config == NULL)
		return AVERROR(ENOMEM);
	memcpy(config, c->extradata, c->extradata_size);
	to->config = config;
	to->config_size = c->extradata_size;
	return 0;
}

int hr_make_parameters(AVCodecParameters *to, const hr_av_track *t, const uint8_t *config, size_t size) {
	const AVCodecDescriptor *codec = avcodec_descriptor_get_by_name(t->codec);
	const hr_av_stream *a = &t->about;
	if (codec == NULL || size > 1 << 26)
		return AVERROR_INVALIDDATA;
	to->codec_type = codec->type;
	to->codec_id = codec->id;
	to->codec_tag = a->tag;
	to->sample_aspect_ratio = (AVRational){t->aspect[0], t->aspect[1]};
	if (codec->type == AVMEDIA_TYPE_VIDEO) {
		to->width = a->width;
		to->height = a->height;
		to->video_delay = a->reorder;
		to->color_space = a->matrix > 0 ? a->matrix : AVCOL_SPC_UNSPECIFIED;
		to->color_primaries = a->primaries > 0 ? a->primaries : AVCOL_PRI_UNSPECIFIED;
		to->color_trc = a->transfer > 0 ? a->transfer : AVCOL_TRC_UNSPECIFIED;
		to->color_range = a->range;
		to->chroma_location = a->siting;
	}
	if (codec->type == AVMEDIA_TYPE_AUDIO) {
		if (a->channels < 0 || a->channels > 1024)
			return AVERROR_INVALIDDATA;
		to->sample_rate = a->rate;
		to->block_align = a->block;
		to->bit_rate = a->bit_rate;
		to->initial_padding = t->padding;
		if (a->channels > 0)
			av_channel_layout_default(&to->ch_layout, a->channels);
	}
	to->bits_per_coded_sample = a->bits;
	if (to->codec_id == AV_CODEC_ID_TTA)
		to->bits_per_raw_sample = a->bits;
	if (size == 0)
		return 0;
	to->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
	if (to->extradata == NULL)
		return AVERROR(ENOMEM);
	memcpy(to->extradata, config, size);
	to->extradata_size = (int)size;
	return 0;
}
