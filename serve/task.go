package serve

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/tensor"
)

// task holds the arguments of a task as docs/protocol.md defines them, and values derived
// from them.
type task struct {
	Do string `json:"do"` // what is done, one of those of parseTask

	// Of decoding.
	Batch      bool         `json:"batch"`
	Strict     bool         `json:"strict"`
	Color      string       `json:"color"`
	DType      string       `json:"dtype"` // of encoding, too
	Mode       string       `json:"mode"`
	Orient     bool         `json:"orient"`
	Background *[3]uint8    `json:"background"`
	Width      int          `json:"width"` // and height; 0: as the image has
	Height     int          `json:"height"`
	Fit        string       `json:"fit"`
	Filter     media.Filter `json:"filter"`
	Format     string       `json:"format"`     // that the input must have; of encoding, the one to make
	MaxBytes   int64        `json:"max_bytes"`  // of a file; 0: the default, as with those that follow
	MaxPixels  int          `json:"max_pixels"` // of an image
	TimeLimit  float64      `json:"time_limit"` // seconds that an input may take; 0: any time

	Audio recipe.Args `json:"audio"` // of audio: which window, and how it comes out
	sound sound.Standalone

	// Of video: which frames, and how they come out.
	Video   recipe.Args `json:"video"`
	Native  bool        `json:"native"`  // frames keep the decoder's numbers
	Indices []int       `json:"indices"` // the frames, instead
	Times   []float64   `json:"times"`   // those on screen then, instead
	clip    video.Standalone

	AV   json.RawMessage `json:"av"` // of what else is to be done
	more any             // and what that comes to

	// Of encoding.
	Shape       []int  `json:"shape"`
	Quality     int    `json:"quality"`
	Subsampling string `json:"subsampling"`
	Progressive bool   `json:"progressive"`
	Lossless    bool   `json:"lossless"`
	Effort      int    `json:"effort"`

	encode   bool
	limit    time.Duration
	options  media.Options
	steps    []media.Step
	form     media.Form // of one result; its size may be unknown
	pixels   media.Pixels
	encoding media.EncodeOptions
}

// maxTimeLimit is the longest time limit in seconds. It fits a [time.Duration].
const maxTimeLimit = 1e9

// sized reports whether the size of results is known before an image is read.
func (t *task) sized() bool { return t.form.Height > 0 }

func (t *task) prepareDecode() (err error) {
	o := &t.options
	if o.Color, err = media.ParseColor(t.Color); err != nil {
		return err
	}
	if o.DType, err = pixelType(t.DType); err != nil {
		return err
	}

	switch t.Mode {
	case "exact":
	case "fast":
		o.Mode = media.Fast
	default:
		return fmt.Errorf(`serve: mode %q: must be "exact" or "fast"`, t.Mode)
	}

	o.Orient, o.Background, o.MaxPixels = t.Orient, t.Background, t.MaxPixels
	if t.MaxBytes < 0 {
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", t.MaxBytes)
	}
	if err := t.prepareLimit(); err != nil {
		return err
	}

	if err := o.Check(); err != nil {
		return err
	}
	t.form = o.Form()

	if t.Width == 0 && t.Height == 0 {
		return nil
	}

	var op media.Op
	switch t.Fit {
	case "stretch":
		op = media.ResizeExact{Height: t.Height, Width: t.Width, Filter: t.Filter}
	case "crop":
		op = media.ResizeToBucket{Sizes: []media.Size{{Height: t.Height, Width: t.Width}}, Filter: t.Filter}
	case "pad":
		op = media.ResizePad{Height: t.Height, Width: t.Width, Filter: t.Filter, Fill: opaque(o.Color, o.DType)}
	default:
		return fmt.Errorf(`serve: fit %q: must be "stretch", "crop" or "pad"`, t.Fit)
	}
	if err := op.Check(); err != nil {
		return err
	}

	t.steps = []media.Step{{Op: op}}
	t.form.Height, t.form.Width = t.Height, t.Width
	return nil
}

// opaque returns the colour of bars: black, without transparency.
func opaque(c media.Color, d tensor.DType) (fill [4]uint16) {
	if c == media.RGBA {
		fill[3] = 255
		if d == tensor.Uint16 {
			fill[3] = 65535
		}
	}
	return fill
}

func (t *task) prepareLimit() error {
	if !(t.TimeLimit >= 0 && t.TimeLimit <= maxTimeLimit) {
		return fmt.Errorf("serve: time_limit %v: must be a number of seconds", t.TimeLimit)
	}
	// 0 means no limit, so what is given must not be rounded down to it.
	if t.limit = time.Duration(t.TimeLimit * float64(time.Second)); t.TimeLimit > 0 {
		t.limit = max(t.limit, 1)
	}
	return nil
}

func pixelType(name string) (tensor.DType, error) {
	switch name {
	case "uint8":
		return tensor.Uint8, nil
	case "uint16":
		return tensor.Uint16, nil
	}
	return tensor.Invalid, fmt.Errorf(`serve: pixels of %q: must be "uint8" or "uint16"`, name)
}
