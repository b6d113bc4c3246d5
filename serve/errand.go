package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"headrace/media"
	"headrace/recipe"
	"headrace/tensor"
)

// errand is what a task asks for, as docs/protocol.md has it, and what follows from it.
type errand struct {
	Do string `json:"do"` // what is done, one of those of parseErrand

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

	Audio *recipe.DecodeAudio `json:"audio"` // of audio: which window, and how it comes out

	// Of video: which frames, and how they come out.
	Video   *recipe.DecodeVideo `json:"video"`
	Indices []int               `json:"indices"` // the frames, instead
	Times   []float64           `json:"times"`   // those on screen then, instead

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

// maxTimeLimit is longer than anything lasts, in seconds, and fits a [time.Duration].
const maxTimeLimit = 1e9

// sized reports whether the size of results is known before an image is.
func (e *errand) sized() bool { return e.form.Height > 0 }

func parseErrand(text []byte) (e errand, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, err
	}
	switch e.Do {
	case "decode":
		err = e.prepareDecode()
	case "encode":
		e.encode = true
		err = e.prepareEncode()
	case "audio", "audio_info":
		err = e.prepareAudio()
	case "video", "video_info":
		err = e.prepareVideo()
	default:
		d, known := doings[e.Do]
		if !known {
			return e, fmt.Errorf(`serve: there is no task %q: must be "decode", "encode", "audio", "audio_info", "video", "video_info", or one of %s`, e.Do, doingNames())
		}
		err = d.prepare(&e)
	}
	return e, err
}

func (e *errand) prepareDecode() (err error) {
	o := &e.options
	if o.Color, err = media.ParseColor(e.Color); err != nil {
		return err
	}
	if o.DType, err = pixelType(e.DType); err != nil {
		return err
	}

	switch e.Mode {
	case "exact":
	case "fast":
		o.Mode = media.Fast
	default:
		return fmt.Errorf(`serve: mode %q: must be "exact" or "fast"`, e.Mode)
	}

	o.Orient, o.Background, o.MaxPixels = e.Orient, e.Background, e.MaxPixels
	if e.MaxBytes < 0 {
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", e.MaxBytes)
	}
	if err := e.prepareLimit(); err != nil {
		return err
	}

	if err := o.Check(); err != nil {
		return err
	}
	e.form = o.Form()

	if e.Width == 0 && e.Height == 0 {
		return nil
	}

	var op media.Op
	switch e.Fit {
	case "stretch":
		op = media.ResizeExact{Height: e.Height, Width: e.Width, Filter: e.Filter}
	case "crop":
		op = media.ResizeToBucket{Sizes: []media.Size{{Height: e.Height, Width: e.Width}}, Filter: e.Filter}
	default:
		return fmt.Errorf(`serve: fit %q: must be "stretch" or "crop"`, e.Fit)
	}
	if err := op.Check(); err != nil {
		return err
	}

	e.steps = []media.Step{{Op: op}}
	e.form.Height, e.form.Width = e.Height, e.Width
	return nil
}

func (e *errand) prepareLimit() error {
	if !(e.TimeLimit >= 0 && e.TimeLimit <= maxTimeLimit) {
		return fmt.Errorf("serve: time_limit %v: must be a number of seconds", e.TimeLimit)
	}
	// 0 means no limit, so what is given must not be rounded down to it.
	if e.limit = time.Duration(e.TimeLimit * float64(time.Second)); e.TimeLimit > 0 {
		e.limit = max(e.limit, 1)
	}
	return nil
}

func (e *errand) prepareEncode() (err error) {
	p := &e.pixels
	if p.DType, err = pixelType(e.DType); err != nil {
		return err
	}

	if len(e.Shape) != 3 {
		return fmt.Errorf("serve: pixels of shape %v: must be [height, width, channels]", e.Shape)
	}
	p.Height, p.Width = e.Shape[0], e.Shape[1]
	switch e.Shape[2] {
	case 1:
		p.Color = media.Gray
	case 3:
		p.Color = media.RGB
	case 4:
		p.Color = media.RGBA
	default:
		return fmt.Errorf("serve: pixels of %d channels: must be 1, 3 or 4", e.Shape[2])
	}

	if p.Height < 1 || p.Width < 1 || p.Width > media.MaxPixels/p.Height {
		return fmt.Errorf("serve: an image of %d×%d pixels", p.Width, p.Height)
	}
	p.Stride = p.Width * p.PixelBytes()

	e.encoding = media.EncodeOptions{
		Format: e.Format, Quality: e.Quality, Subsampling: e.Subsampling, Progressive: e.Progressive, Lossless: e.Lossless, Effort: e.Effort,
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
