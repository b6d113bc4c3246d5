package video

import (
	"errors"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/recipe"
)

// Raw returns how frames are stored in files that are nothing but frames; nil: files have
// containers. It returns an error if the arguments are wrong.
func (d *DecodeVideo) Raw() (*video.Raw, error) {
	switch {
	case d.Format == "" && d.FormatOptions != "":
		return nil, recipe.Wrong("format_options", "is for raw frames: set format to \"rawvideo\"")
	case d.Format == "":
		return nil, nil
	case d.Format != "rawvideo":
		return nil, recipe.Wrong("format", "is %q: must be \"rawvideo\"; other files tell their format themselves, YUV4MPEG too", d.Format)
	}

	r := &video.Raw{Rate: av.Rational{Num: 25, Den: 1}} // as FFmpeg takes it
	for option := range strings.SplitSeq(d.FormatOptions, ":") {
		name, value, _ := strings.Cut(option, "=")
		ok := true
		switch name {
		case "":
		case "video_size":
			r.Width, r.Height, ok = sizeOf(value)
		case "pixel_format":
			r.Format = value
		case "framerate":
			r.Rate, ok = rateOf(value)
		default:
			return nil, recipe.Wrong("format_options", "has %q: raw frames have video_size, pixel_format and framerate", name)
		}
		if !ok {
			return nil, recipe.Wrong("format_options", "has %s %q: must be as in %s", name, value,
				map[string]string{"video_size": "64x48, of at most 178956970 pixels", "framerate": "25, 29.97 or 30000/1001"}[name])
		}
	}
	if r.Width == 0 || r.Format == "" {
		return nil, recipe.Wrong("format_options", "must have video_size and pixel_format, "+
			"as in \"video_size=64x48:pixel_format=yuv420p\": nothing in the file says them")
	}
	return r, nil
}

func sizeOf(text string) (width, height int, ok bool) {
	w, h, _ := strings.Cut(text, "x")
	width, wrong := strconv.Atoi(w)
	height, wrong2 := strconv.Atoi(h)
	if errors.Join(wrong, wrong2) != nil || min(width, height) < 1 {
		return 0, 0, false
	}
	return width, height, width <= media.MaxPixels/height
}

func rateOf(text string) (av.Rational, bool) {
	num, den, fraction := strings.Cut(text, "/")
	if !fraction {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 1e-3 && f <= 1e6) {
			return av.Rational{}, false
		}
		r, err := av.Decimal(f)
		return r, err == nil && r.Positive()
	}
	n, wrong := strconv.Atoi(num)
	d, wrong2 := strconv.Atoi(den)
	if errors.Join(wrong, wrong2) != nil || min(n, d) < 1 || max(n, d) > 1e9 {
		return av.Rational{}, false
	}
	r, ok := av.Reduce(int64(n), int64(d))
	return r, ok && r.Positive()
}
