package doctor

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

const pictures = "images"

//go:embed pictures
var files embed.FS

// corners are the colours of the four quarters of the images, which have 16×16 pixels.
var corners = [4][3]int{{200, 40, 40}, {40, 160, 60}, {40, 60, 200}, {220, 200, 60}}

const side = 16

// tolerance is what lossy formats may be off by.
const tolerance = 16

// plainGo is what decoders without C are called.
const plainGo = "go"

// cFormats are those for which there is C, and how to have it.
var cFormats = map[string]string{
	media.JPEG: "libjpeg-turbo decodes several times faster",
	media.PNG:  "libspng decodes faster",
	media.WebP: "libwebp decodes faster, and writes WebP",
}

const haveC = ": use the wheel, or build with cgo (make build)"

func (e *examiner) decoders() {
	all := []string{media.JPEG, media.PNG, media.WebP, media.AVIF, media.GIF, media.BMP, media.TIFF}
	for _, format := range all {
		f := Finding{Topic: pictures, Name: format, Essential: true}
		d, err := media.DecoderFor(format)
		if err == nil {
			if f.Fact = d.Name(); d.Name() == plainGo {
				f.Fact = "plain Go"
				if gain := cFormats[format]; gain != "" {
					f.Status, f.Advice = Low, gain+haveC
				}
			}
			err = decode(format)
		}
		if format == media.AVIF {
			e.avif(&f)
		}
		if format == media.TIFF && e.TIFF != nil {
			e.tiff(&f)
		}
		if err != nil && f.Status != Missing {
			f.Status, f.Fact = Missing, err.Error()
			f.Advice = "this build of the library differs from what this program expects: " +
				"use your distribution's, or the wheel, which has its own"
		}
		f.Value = f.Fact
		e.add(f)
	}
}

// avif is decoded by a library that is opened when it is needed. Who has no AVIF needs
// none.
func (e *examiner) avif(f *Finding) {
	if e.AVIF == nil {
		f.Status, f.Essential, f.Fact = Missing, false, "not decoded"
		f.Advice = "only programs with C open libavif" + haveC
		return
	}
	version, codecs, err := e.AVIF()
	if err != nil {
		f.Status, f.Essential, f.Fact = Missing, false, strings.TrimPrefix(err.Error(), media.ErrUnsupported.Error()+": ")
		f.Advice = "AVIF images would be decoded"
		return
	}
	f.Fact = "libavif-" + version + ", AV1 by " + codecs
}

// tiff is decoded by a library that is linked in, or opened when it is needed.
func (e *examiner) tiff(f *Finding) {
	version, err := e.TIFF()
	if err != nil {
		f.Status, f.Essential, f.Fact = Missing, false, strings.TrimPrefix(err.Error(), media.ErrUnsupported.Error()+": ")
		f.Advice = "TIFF images would be decoded"
		return
	}
	f.Fact = "libtiff-" + version
}

// decode decodes the image of a format and looks at it.
func decode(format string) error {
	data, err := files.ReadFile("pictures/four." + format)
	if err != nil {
		return err
	}
	return look(data)
}

func look(data []byte) error {
	info, err := media.Probe(data)
	if err != nil {
		return err
	}

	d, err := media.DecoderFor(info.Format)
	if err != nil {
		return err
	}

	var plan media.Plan
	if err := media.MakePlan(info, media.Options{}, nil, nil, &plan); err != nil {
		return err
	}
	if plan.Width != side || plan.Height != side {
		return fmt.Errorf("an image of %d×%d pixels is read as %d×%d", side, side, plan.Width, plan.Height)
	}

	pixels := make([]byte, 3*side*side)
	if err := d.DecodeInto(pixels, 3*side, data, &info, &plan); err != nil {
		return err
	}

	for i, want := range corners {
		x, y := side/4+i%2*side/2, side/4+i/2*side/2
		for c := range want {
			if got := int(pixels[3*(y*side+x)+c]); got < want[c]-tolerance || got > want[c]+tolerance {
				return fmt.Errorf("the pixel at %d, %d is decoded to %d instead of %d", x, y, pixels[3*(y*side+x):][:3], want)
			}
		}
	}
	return nil
}

// encoders writes the image in each format that can be written, and reads it again.
func (e *examiner) encoders() {
	made := e.report.Build.Features.Encoders
	f := Finding{Topic: pictures, Name: "written are", Essential: true, Value: made}
	for _, format := range slices.Sorted(maps.Keys(made)) {
		if err := encode(format); err != nil {
			f.Status = Missing
			f.Advice = fmt.Sprintf("%s written by %s is read back differently: %v", format, made[format], err)
		}
		if f.Fact += ", " + format; made[format] != plainGo {
			f.Fact += " by " + made[format]
		}
	}
	f.Fact = f.Fact[min(2, len(f.Fact)):]
	if _, err := media.EncoderFor(media.WebP); errors.Is(err, media.ErrUnsupported) && f.Status == "" {
		f.Status, f.Advice = Low, cFormats[media.WebP]+haveC
	}
	e.add(f)
}

func encode(format string) error {
	p := media.Pixels{Data: make([]byte, 3*side*side), Stride: 3 * side, Width: side, Height: side, DType: tensor.Uint8}
	for i := range side * side {
		for c, v := range corners[i%side/(side/2)+i/side/(side/2)*2] {
			p.Data[3*i+c] = byte(v)
		}
	}
	o := media.EncodeOptions{Format: format}
	switch format { // 16×16 pixels are few for the usual loss
	case media.JPEG:
		o.Quality = 95
	case media.WebP:
		o.Lossless = true
	}
	data, err := media.Encode(nil, p, o)
	if err != nil {
		return err
	}
	return look(data)
}
