// Graphs of filters. libavfilter needs many libraries, which decoding does not: it is opened with the first graph.
#define _GNU_SOURCE
#include "shim.h"

#if __has_include(<libavfilter/avfilter.h>)

#include <dlfcn.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/avstring.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// What is called of it, found by name.
#define CALLED(X)                                                                                                                          \
	X(avfilter_get_by_name) X(avfilter_graph_alloc) X(avfilter_graph_free) X(avfilter_graph_alloc_filter) X(avfilter_init_str)              \
	X(avfilter_graph_create_filter) X(avfilter_graph_parse2) X(avfilter_graph_config) X(avfilter_inout_free) X(avfilter_link)               \
	X(av_buffersrc_parameters_alloc) X(av_buffersrc_parameters_set) X(av_buffersrc_add_frame_flags) X(av_buffersrc_close) X(av_buffersink_get_frame)              \
	X(av_buffersink_set_frame_size) X(av_buffersink_get_type) X(av_buffersink_get_time_base) X(av_buffersink_get_format)                    \
	X(av_buffersink_get_frame_rate) X(av_buffersink_get_w) X(av_buffersink_get_h) X(av_buffersink_get_sample_aspect_ratio)                  \
	X(av_buffersink_get_ch_layout) X(av_buffersink_get_sample_rate) X(avfilter_pad_get_type)

#define DECLARE(name) __typeof__(name) *name;
static struct {
	CALLED(DECLARE)
	char why[HR_AV_TEXT / 2];
} lib;

static void open_library(void) {
	const char *name = "libavfilter.so." AV_STRINGIFY(LIBAVFILTER_VERSION_MAJOR);
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		snprintf(lib.why, sizeof lib.why, "%s", dlerror());
		return;
	}
#define FIND(name)                                                                                                                         \
	if ((lib.name = (__typeof__(lib.name))dlsym(handle, #name)) == NULL)                                                                    \
		snprintf(lib.why, sizeof lib.why, "libavfilter has no " #name);
	CALLED(FIND)
}

static int is_missing(char *error) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, open_library);
	if (lib.why[0] != 0)
		snprintf(error, HR_AV_TEXT, "filters need libavfilter: %s", lib.why);
	return lib.why[0] != 0;
}

struct hr_av_graph {
	AVFilterGraph *graph;
	AVFilterContext **in, **out;
	int32_t inputs, outputs;
	AVFrame *frame;
	int audio; // of the frame
	int64_t allowed;
};

void hr_graph_close(hr_av_graph *g) {
	if (g == NULL)
		return;
	lib.avfilter_graph_free(&g->graph);
	hr_disallow(g->allowed);
	av_frame_free(&g->frame);
	free(g->in);
	free(g->out);
	free(g);
}

static int make_source(hr_av_graph *g, int32_t i, const hr_av_port *p) {
	char name[32];
	snprintf(name, sizeof name, "input %d", i);
	AVFilterContext *c = lib.avfilter_graph_alloc_filter(g->graph, lib.avfilter_get_by_name(p->audio ? "abuffer" : "buffer"), name);
	AVBufferSrcParameters *how = lib.av_buffersrc_parameters_alloc();
	int result = c != NULL && how != NULL ? 0 : AVERROR(ENOMEM);
	if (result == 0) {
		how->time_base = (AVRational){p->unit[0], p->unit[1]};
		how->format = p->audio ? (int)av_get_sample_fmt(p->format) : (int)av_get_pix_fmt(p->format);
		how->width = p->width;
		how->height = p->height;
		how->sample_aspect_ratio = (AVRational){p->aspect[0], p->aspect[1] > 0 ? p->aspect[1] : 1};
		how->frame_rate = (AVRational){p->frame_rate[0], p->frame_rate[1]};
		how->sample_rate = p->rate;
#if LIBAVFILTER_VERSION_INT >= AV_VERSION_INT(9, 16, 100)
		how->color_space = p->matrix > 0 ? (enum AVColorSpace)p->matrix : AVCOL_SPC_UNSPECIFIED;
		how->color_range = p->range;
#endif
		if (how->format < 0)
			result = AVERROR(EINVAL);
	}
	if (result == 0 && p->audio)
		result = hr_layout(&how->ch_layout, p->channels, p->layout);
	if (result >= 0)
		result = lib.av_buffersrc_parameters_set(c, how);
	if (how != NULL)
		av_channel_layout_uninit(&how->ch_layout);
	av_free(how);
	if (result >= 0)
		result = lib.avfilter_init_str(c, NULL);
	g->in[i] = c;
	return result;
}

// link_in: an open end of the graph takes the input of its label, or, without one, the first that nobody has taken.
static int link_in(hr_av_graph *g, const AVFilterInOut *end, const hr_av_port *ports, char *taken, char *error) {
	for (int pass = 0; pass < 2; pass++)
		for (int32_t i = 0; i < g->inputs; i++) {
			int named = end->name != NULL && strcmp(end->name, ports[i].label) == 0;
			if (taken[i] || (pass == 0 ? !named : end->name != NULL))
				continue;
			taken[i] = 1;
			int result = lib.avfilter_link(g->in[i], 0, end->filter_ctx, end->pad_idx);
			return result < 0 ? hr_failed(result, error) : 0;
		}
	snprintf(error, HR_AV_TEXT, "no input is given for [%.64s] of the filter %.64s", end->name != NULL ? end->name : "", end->filter_ctx->filter->name);
	return HR_AV_CORRUPT;
}

static int is_audio(const AVFilterInOut *end) {
	return lib.avfilter_pad_get_type(end->filter_ctx->output_pads, end->pad_idx) == AVMEDIA_TYPE_AUDIO;
}

static int link_out(hr_av_graph *g, const AVFilterInOut *end, const char *pictures, const char *samples) {
	int audio = is_audio(end);
	const char *formats = audio ? samples : pictures;
	AVFilterContext *last = end->filter_ctx, *sink;
	int result = 0, pad = end->pad_idx;
	if (formats[0] != 0) {
		AVFilterContext *format;
		char how[2048], name[32];
		snprintf(how, sizeof how, "%s=%s", audio ? "sample_fmts" : "pix_fmts", formats);
		snprintf(name, sizeof name, "format %d", g->outputs);
		result = lib.avfilter_graph_create_filter(&format, lib.avfilter_get_by_name(audio ? "aformat" : "format"), name, how, NULL, g->graph);
		if (result >= 0)
			result = lib.avfilter_link(last, pad, format, 0);
		last = format;
		pad = 0;
	}
	char name[64];
	snprintf(name, sizeof name, "%s", end->name != NULL ? end->name : "");
	if (result >= 0)
		result = lib.avfilter_graph_create_filter(&sink, lib.avfilter_get_by_name(audio ? "abuffersink" : "buffersink"), name, NULL, NULL, g->graph);
	if (result >= 0)
		result = lib.avfilter_link(last, pad, sink, 0);
	if (result >= 0)
		g->out[g->outputs++] = sink;
	return result;
}

static int build(hr_av_graph *g, const char *text, const hr_av_port *ports, const char *pictures, const char *samples, char *error) {
	AVFilterInOut *ins = NULL, *outs = NULL;
	char *taken = calloc(g->inputs + 1, 1);
	int told = 0;
	int result = taken != NULL ? lib.avfilter_graph_parse2(g->graph, text, &ins, &outs) : AVERROR(ENOMEM);
	for (int32_t i = 0; i < g->inputs && result >= 0; i++)
		result = make_source(g, i, &ports[i]);
	for (const AVFilterInOut *end = ins; end != NULL && result >= 0; end = end->next)
		if ((result = link_in(g, end, ports, taken, error)) < 0)
			told = result;
	for (int32_t i = 0; i < g->inputs && result >= 0; i++)
		if (!taken[i])
			result = told = hr_told(HR_AV_CORRUPT, error, "the graph has no place for the input ", ports[i].label);
	int32_t n = 0;
	for (const AVFilterInOut *end = outs; end != NULL; end = end->next)
		n++;
	if (result >= 0 && n == 0)
		result = told = hr_told(HR_AV_CORRUPT, error, "the graph has no output", "");
	if (result >= 0 && (g->out = calloc(n + 1, sizeof *g->out)) == NULL)
		result = AVERROR(ENOMEM);
	for (const AVFilterInOut *end = outs; end != NULL && result >= 0; end = end->next)
		result = link_out(g, end, pictures, samples);
	if (result >= 0)
		result = lib.avfilter_graph_config(g->graph, NULL);
	lib.avfilter_inout_free(&ins);
	lib.avfilter_inout_free(&outs);
	free(taken);
	if (told != 0)
		return told;
	return result < 0 ? hr_failed(result, error) : 0;
}

// Filters open files when they are made, so the description is taken apart as FFmpeg does it, before.
int hr_graph_files(const char *text, char *error) {
	if (is_missing(error))
		return HR_AV_UNSUPPORTED;
	static const char spaces[] = " \n\\t\\r";
	int result = 0;
	while (result == 0 && *(text += strspn(text, spaces)) != 0) {
		if (*text == '[') { // a label
			text++;
			av_free(av_get_token(&text, "]"));
			text += *text == ']';
			continue;
		}
		if (*text == ',' || *text == ';') {
			text++;
			continue;
		}
		char *name = av_get_token(&text, "=,;["), *options = NULL, option[64];
		if (*text == '=') {
			text++;
			options = av_get_token(&text, "[],;");
		}
		if (*text == ']')
			text++;
		if (name != NULL) {
			name[strcspn(name, "@")] = 0; // its own name, which FFmpeg does not look up
			const AVFilter *f = lib.avfilter_get_by_name(name);
			if (f != NULL && hr_opens_files(f->priv_class, options, 1, option, sizeof option)) {
				snprintf(error, HR_AV_TEXT, "the option %.60s of the filter %.60s may open a file", option, name);
				result = HR_AV_UNSUPPORTED;
			}
		}
		av_free(name);
		av_free(options);
	}
	return result;
}

int hr_graph_open(hr_av_graph **to, const char *text, const hr_av_port *in, int32_t inputs, const char *pictures, const char *samples, char *error) {
	*to = NULL;
	if (is_missing(error))
		return HR_AV_UNSUPPORTED;
	hr_said[0] = 0;
	hr_av_graph *g = calloc(1, sizeof *g);
	if (g == NULL)
		return hr_failed(AVERROR(ENOMEM), error);
	g->graph = lib.avfilter_graph_alloc();
	g->frame = av_frame_alloc();
	g->in = calloc(inputs + 1, sizeof *g->in);
	g->inputs = inputs;
	enum { pixel = 32 };
	int64_t need = 0;
	for (int32_t i = 0; i < inputs; i++)
		need += (int64_t)in[i].width * in[i].height * pixel;
	g->allowed = hr_allow(need);
	int result = g->graph != NULL && g->frame != NULL && g->in != NULL ? 0 : hr_failed(AVERROR(ENOMEM), error);
	if (result == 0) {
		g->graph->nb_threads = 1;
		g->graph->scale_sws_opts = av_strdup("flags=bicubic+accurate_rnd+full_chroma_int+bitexact");
		result = build(g, text, in, pictures, samples, error);
	}
	if (result < 0) {
		hr_graph_close(g);
		return result;
	}
	*to = g;
	return 0;
}

int32_t hr_graph_outputs(hr_av_graph *g, int32_t i, hr_av_port *p) {
	if (p == NULL || i < 0 || i >= g->outputs)
		return g->outputs;
	const AVFilterContext *c = g->out[i];
	memset(p, 0, sizeof *p);
	snprintf(p->label, sizeof p->label, "%s", c->name != NULL ? c->name : "");
	p->audio = lib.av_buffersink_get_type(c) == AVMEDIA_TYPE_AUDIO;
	AVRational unit = lib.av_buffersink_get_time_base(c);
	p->unit[0] = unit.num;
	p->unit[1] = unit.den;
	int format = lib.av_buffersink_get_format(c);
	const char *name = p->audio ? av_get_sample_fmt_name(format) : av_get_pix_fmt_name(format);
	snprintf(p->format, sizeof p->format, "%s", name != NULL ? name : "");
	if (p->audio) {
		AVChannelLayout layout = {0};
		p->rate = lib.av_buffersink_get_sample_rate(c);
		if (lib.av_buffersink_get_ch_layout(c, &layout) >= 0) {
			p->channels = layout.nb_channels;
			p->layout = layout.order == AV_CHANNEL_ORDER_NATIVE ? layout.u.mask : 0;
			av_channel_layout_uninit(&layout);
		}
		return g->outputs;
	}
	p->width = lib.av_buffersink_get_w(c);
	p->height = lib.av_buffersink_get_h(c);
	AVRational rate = lib.av_buffersink_get_frame_rate(c), aspect = lib.av_buffersink_get_sample_aspect_ratio(c);
	p->frame_rate[0] = rate.num;
	p->frame_rate[1] = rate.den;
	p->aspect[0] = aspect.num;
	p->aspect[1] = aspect.den;
	return g->outputs;
}

void hr_graph_pieces(hr_av_graph *g, int32_t i, int32_t samples) {
	if (i >= 0 && i < g->outputs && samples > 0)
		lib.av_buffersink_set_frame_size(g->out[i], samples);
}

int hr_graph_push(hr_av_graph *g, int32_t i, const hr_av_frame *f, const uint8_t *raw, size_t size, int64_t pts, char *error) {
	hr_said[0] = 0;
	if (i < 0 || i >= g->inputs)
		return hr_told(HR_AV_MISUSE, error, "the graph has no such input", "");
	AVFrame *frame = NULL;
	int result = f != NULL ? hr_make_frame(&frame, f, raw, size, pts) : 0;
	if (result >= 0 && f == NULL && pts != HR_AV_NO_TIME) // when the last frame disappears, which filters such as fps go by
		result = lib.av_buffersrc_close(g->in[i], pts, 0);
	else if (result >= 0)
		result = lib.av_buffersrc_add_frame_flags(g->in[i], frame, 0);
	av_frame_free(&frame);
	if (result == AVERROR_EOF) // the graph has had enough, as with trim
		return 0;
	return result < 0 ? hr_failed(result, error) : 0;
}

int hr_graph_pull(hr_av_graph *g, int32_t i, hr_av_frame *to, int64_t *pts, char *error) {
	hr_said[0] = 0;
	if (i < 0 || i >= g->outputs)
		return hr_told(HR_AV_MISUSE, error, "the graph has no such output", "");
	av_frame_unref(g->frame);
	int result = lib.av_buffersink_get_frame(g->out[i], g->frame);
	if (result == AVERROR(EAGAIN))
		return HR_AV_NEEDS;
	if (result == AVERROR_EOF)
		return HR_AV_END;
	if (result < 0)
		return hr_failed(result, error);
	g->audio = lib.av_buffersink_get_type(g->out[i]) == AVMEDIA_TYPE_AUDIO;
	hr_tell_frame(g->frame, g->audio, to);
	*pts = hr_time(g->frame->pts);
	return HR_AV_FRAME;
}

int64_t hr_graph_raw(hr_av_graph *g, uint8_t *to, size_t room) { return hr_raw_frame(g->frame, g->audio, to, room); }

#else // without headers

int hr_graph_open(hr_av_graph **to, const char *text, const hr_av_port *in, int32_t inputs, const char *pictures, const char *samples, char *error) {
	(void)text, (void)in, (void)inputs, (void)pictures, (void)samples;
	*to = NULL;
	return hr_told(HR_AV_UNSUPPORTED, error, "filters need libavfilter, whose headers were missing when this was built: apt-get install -y libavfilter-dev, then scripts/ffmpeg.sh", "");
}
int hr_graph_files(const char *text, char *error) { return (void)text, (void)error, 0; }
int32_t hr_graph_outputs(hr_av_graph *g, int32_t i, hr_av_port *p) { return (void)g, (void)i, (void)p, 0; }
void hr_graph_pieces(hr_av_graph *g, int32_t i, int32_t n) { (void)g, (void)i, (void)n; }
int hr_graph_push(hr_av_graph *g, int32_t i, const hr_av_frame *f, const uint8_t *raw, size_t size, int64_t pts, char *error) {
	return (void)g, (void)i, (void)f, (void)raw, (void)size, (void)pts, (void)error, HR_AV_MISUSE;
}
int hr_graph_pull(hr_av_graph *g, int32_t i, hr_av_frame *f, int64_t *pts, char *error) { return (void)g, (void)i, (void)f, (void)pts, (void)error, HR_AV_MISUSE; }
int64_t hr_graph_raw(hr_av_graph *g, uint8_t *to, size_t room) { return (void)g, (void)to, (void)room, -1; }
void hr_graph_close(hr_av_graph *g) { (void)g; }

#endif
