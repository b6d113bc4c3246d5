package sound

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/wav"
	"github.com/headrace/headrace/recipe"
)

// Raw says how samples are stored, if files are nothing but samples. The arguments must
// be checked.
func (d *DecodeAudio) Raw() sound.Raw {
	raw, _ := d.raw()
	return raw
}

func (d *DecodeAudio) raw() (r sound.Raw, err error) {
	if d.Format == "" {
		return r, nil
	}
	r = sound.Raw{Format: d.Format, Rate: argument.OrElse(d.Rate, 0), Channels: argument.OrElse(d.Channels, 1)}
	for option := range strings.SplitSeq(d.FormatOptions, ":") {
		if option == "" {
			continue
		}
		name, value, _ := strings.Cut(option, "=")
		to, most := (*int)(nil), 0
		switch name {
		case "sample_rate":
			to, most = &r.Rate, 1_000_000
		case "channels":
			to, most = &r.Channels, 256
		default:
			return r, recipe.Wrong("format_options", "has %q: raw samples have sample_rate and channels", name)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > most {
			return r, recipe.Wrong("format_options", "has %s %q: must be from 1 to %d", name, value, most)
		}
		*to = n
	}
	return r, nil
}

// checkRaw checks the arguments about raw samples.
func (d *DecodeAudio) checkRaw() error {
	if d.Format == "" {
		if d.FormatOptions != "" {
			return recipe.Wrong("format_options", "is for raw samples: set format, as in \"s16le\"")
		}
		return nil
	}
	if all := wav.RawFormats(); !slices.Contains(all, d.Format) {
		return recipe.Wrong("format", "is %q: raw samples are %s; other files tell their format themselves", d.Format, words.List(all))
	}
	r, err := d.raw()
	if err == nil && r.Rate == 0 {
		err = recipe.Wrong("format", "is %q, which does not say how many samples a second there are: set rate, "+
			"or format_options with sample_rate", d.Format)
	}
	if d.Window != "" {
		err = errors.Join(err, recipe.Wrong("window", "is that of a video's sound, which has a container: leave format out"))
	}
	return err
}
