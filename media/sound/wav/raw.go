package wav

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound"
)

// raws are the formats of samples without a head, by FFmpeg's names of them.
var raws = map[string]struct {
	coding coding
	width  int
}{
	"u8": {pcm8, 1}, "s8": {signed8, 1},
	"s16le": {pcm16, 2}, "s24le": {pcm24, 3}, "s32le": {pcm32, 4}, "f32le": {float, 4}, "f64le": {double, 8},
	"s16be": {pcm16Big, 2}, "s24be": {pcm24Big, 3}, "s32be": {pcm32Big, 4}, "f32be": {floatBig, 4}, "f64be": {doubleBig, 8},
	"alaw": {aLaw, 1}, "mulaw": {muLaw, 1},
}

// RawFormats returns the names of the formats that [OpenRaw] opens.
func RawFormats() []string { return slices.Sorted(maps.Keys(raws)) }

// OpenRaw opens samples without a head, for [sound.RegisterRaw].
func OpenRaw(c *sound.Content, o sound.Options) (sound.Stream, error) {
	is, ok := raws[o.Raw.Format]
	if !ok {
		return nil, fmt.Errorf("raw: there is no format %q", o.Raw.Format)
	}
	if o.Track > 0 {
		return nil, fmt.Errorf("raw: there is no audio track %d: the file has one, number 0", o.Track)
	}
	if c.Size() == 0 {
		return nil, fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	f := &File{content: c}
	f.coding, f.width = is.coding, is.width
	if rest := c.Size() % int64(is.width*max(o.Raw.Channels, 1)); rest != 0 {
		if f.short = true; !o.Keep {
			return nil, fmt.Errorf("%w: the last %d bytes are less than a sample of %s with %d channels: "+
				"other samples than that, or cut off; %s", media.ErrTruncated, rest, o.Raw.Format, o.Raw.Channels, sound.Remedy)
		}
	}
	if err := f.finish("raw", o.Raw.Channels, float64(o.Raw.Rate), 0, c.Size(), math.MaxInt64); err != nil {
		return nil, err // no File that is nil
	}
	return f, nil
}
