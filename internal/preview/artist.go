package preview

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/sheet"
	"github.com/headrace/headrace/live"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Row is a copy of the first sample of a batch.
type Row struct {
	epoch  int
	step   int64
	key    string
	fields []value
}

// value is a field of a sample: an array, or a text.
type value struct {
	name  string
	array tensor.Tensor
	text  string
}

const (
	mostCopied = 16 << 20 // bytes of an array; larger ones are only named
	mostShown  = 12       // fields
	mostText   = 400      // bytes of a text
	mostValues = 64       // numbers of an array
	columns    = 240      // of a wave
	leastWave  = 512      // values that are drawn, and not written
	leastLines = 16       // of an array that is drawn as a picture
	stillSide  = 256      // pixels of a picture's longer side
	stripSide  = 640      // likewise, of frames side by side
)

// RowOf copies the first sample of a batch, which takes microseconds. Drawing it can
// wait.
func RowOf(b *headrace.Batch, info headrace.Info) Row {
	r := Row{epoch: b.Epoch(), step: b.Step()}
	for _, f := range info.Fields[:min(len(info.Fields), mostShown)] {
		v := value{name: f.Name}
		switch array, ok := b.Tensor(f.Name); {
		case ok && !info.Single && (len(array.Shape) == 0 || array.Shape[0] == 0):
			continue // there is no row
		case ok && info.Single:
			v.array = array
		case ok:
			v.array = array.Row(0)
		default:
			v.array, v.text = beside(b, f)
		}

		// A clip may be of a gigabyte.
		if n := len(v.array.Data); n > mostCopied {
			v.text = fmt.Sprintf("%s, too large to be shown", bytesize.Text(int64(n)))
			v.array.Data = nil
		}
		v.array.Data, v.array.Shape = slices.Clone(v.array.Data), slices.Clone(v.array.Shape)
		if v.text = strings.Clone(v.text); f.Name == "key" {
			r.key = v.text
			continue
		}
		r.fields = append(r.fields, v)
	}
	return r
}

// beside returns the first value of a field that is no array of the batch.
func beside(b *headrace.Batch, f headrace.Field) (array tensor.Tensor, text string) {
	if all := b.Ragged(f.Name); len(all) > 0 {
		return all[0], ""
	}
	if all := b.Text(f.Name); len(all) > 0 {
		return array, short(all[0])
	}
	if all := b.TextLists(f.Name); len(all) > 0 {
		return array, short(strings.Join(all[0], " · "))
	}
	if f.Kind == sample.Object {
		return array, "an object of Python"
	}
	if all := b.Bytes(f.Name); all != nil {
		return array, bytesize.Text(int64(len(all)))
	}
	return array, "not shown"
}

func short(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > mostText {
		return strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	return text
}

// Artist draws rows of a loader: images, frames of clips side by side, waves; of the rest
// numbers and texts.
type Artist struct {
	schema sample.Schema
	undo   *sheet.Undo
}

// ArtistOf returns one for a loader.
func ArtistOf(l *headrace.Loader) *Artist {
	r := l.Recipe()
	a := &Artist{undo: undoOf(r)}
	a.schema, _ = r.Check() // where functions do not say what they return, shapes decide
	return a
}

// Draw draws a row.
func (a *Artist) Draw(r Row) live.Sample {
	s := live.Sample{Key: short(r.key), Epoch: r.epoch, Batch: r.step, Fields: []live.Field{}}
	for _, v := range r.fields {
		f := live.Field{Name: v.name, Text: v.text}
		if v.array.DType.Valid() {
			f.Type = fmt.Sprintf("%v %v", v.array.DType, v.array.Shape)
		}
		if f.Text == "" && v.array.DType.Valid() {
			a.draw(&f, v.array)
		}
		s.Fields = append(s.Fields, f)
	}
	return s
}

func (a *Artist) draw(f *live.Field, of tensor.Tensor) {
	axes := ""
	if i := a.schema.Find(f.Name); i >= 0 {
		axes = a.schema[i].Type.Axes
	}
	picture, err := a.picture(of, axes)
	if err == nil {
		f.Picture, err = encoded(picture, axes)
	}
	if err == nil {
		return
	}
	if elements(of) >= leastWave && len(of.Shape) <= 2 && isSound(of.DType) {
		f.Low, f.High = wave(of)
		return
	}
	f.Text = written(of)
}

var errNoPicture = errors.New("preview: not an image")

// picture returns an array as an image, if it is one: by its axes, or by its shape.
func (a *Artist) picture(of tensor.Tensor, axes string) (media.Pixels, error) {
	layout, undo := media.HWC, a.undo
	switch {
	case axes != "" && axes == (media.Form{Color: media.Mask}).Axes(), axes == "" && isPlane(of):
		of.Shape, undo = append(slices.Clone(of.Shape), 1), nil
	case axes != "" && moves(axes):
		of = strip(of, axes)
	case axes == media.CHW.String():
		layout = media.CHW
	case axes != "":
	case len(of.Shape) == 3 && isChannels(of.Shape[2]):
	case len(of.Shape) == 3 && isChannels(of.Shape[0]):
		layout = media.CHW
	default:
		return media.Pixels{}, errNoPicture
	}
	return sheet.Picture(of, layout, undo)
}

func isChannels(n int) bool { return n == 1 || n == 3 || n == 4 }

// isPlane finds spectrograms, masks and the like. A sound of two channels is none.
func isPlane(t tensor.Tensor) bool {
	return len(t.Shape) == 2 && min(t.Shape[0], t.Shape[1]) >= leastLines
}

func elements(t tensor.Tensor) int { return len(t.Data) / t.DType.Size() }

func isSound(d tensor.DType) bool {
	switch d {
	case tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64, tensor.Int16:
		return true
	}
	return false
}

func encoded(p media.Pixels, axes string) ([]byte, error) {
	side := stillSide
	if moves(axes) {
		side = stripSide
	}
	p, err := sheet.Fit(p, side)
	if err != nil {
		return nil, err
	}
	on := image.NewNRGBA(image.Rect(0, 0, p.Width, p.Height))
	for y := range p.Height {
		row := p.Row(y)
		for x := range p.Width {
			copy(on.Pix[on.PixOffset(x, y):], row[3*x:3*x+3])
			on.Pix[on.PixOffset(x, y)+3] = 0xff
		}
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, on)
	return b.Bytes(), err
}

// wave returns the least and the greatest value of each part of a sound: of the first
// channel, or of all if they are interleaved.
func wave(of tensor.Tensor) (low, high []float64) {
	n := elements(of)
	if len(of.Shape) == 2 && of.Shape[0] < of.Shape[1] {
		n = of.Shape[1]
	}
	read := numbers.Reader(of.DType)

	most := 1.0 // float samples are between -1 and 1
	for i := range n {
		if v := math.Abs(read(of.Data, i)); v > most && !math.IsInf(v, 0) {
			most = v
		}
	}

	for c := range columns {
		from, to := c*n/columns, (c+1)*n/columns
		least, greatest := math.Inf(1), math.Inf(-1)
		for i := from; i < to; i++ {
			v := read(of.Data, i) / most
			least, greatest = min(least, v), max(greatest, v) // NaN stays one
		}
		if math.IsNaN(least) || math.IsInf(least, 0) || math.IsInf(greatest, 0) {
			least, greatest = 0, 0 // JSON has no such numbers
		}
		low, high = append(low, round(least)), append(high, round(greatest))
	}
	return low, high
}

func round(v float64) float64 { return math.Round(1000*v) / 1000 }

// written returns the first numbers of an array.
func written(of tensor.Tensor) string {
	read := numbers.Reader(of.DType)
	if read == nil {
		return "not shown"
	}
	n := elements(of)
	var all []string
	for i := range min(n, mostValues) {
		if whole, ok := numbers.Whole(of.DType, of.Data[i*of.DType.Size():]); ok {
			all = append(all, strconv.FormatInt(whole, 10))
		} else {
			all = append(all, strconv.FormatFloat(read(of.Data, i), 'g', 4, 64))
		}
	}
	if n > mostValues {
		all = append(all, fmt.Sprintf("… (%d)", n))
	}
	return strings.Join(all, " ")
}
