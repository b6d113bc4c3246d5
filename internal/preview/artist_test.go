package preview

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/live"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// array has the value of a function for each element.
func array(d tensor.DType, shape tensor.Shape, of func(i int) float64) tensor.Tensor {
	t := tensor.Tensor{DType: d, Shape: shape}
	n, _ := shape.Elements()
	for i := range int(n) {
		t.Data = numbers.Append(t.Data, d, of(i))
	}
	return t
}

func sine(i int) float64 { return 0.5 * math.Sin(float64(i)/10) }

func drawn(t *testing.T, axes string, of tensor.Tensor) live.Field {
	t.Helper()
	a := &Artist{schema: sample.Schema{{Name: "x", Type: sample.Type{Kind: sample.Tensor, DType: of.DType, Shape: of.Shape, Axes: axes}}}}
	return a.Draw(Row{fields: []value{{name: "x", array: of}}}).Fields[0]
}

// TestPictures: arrays that are images by their axes or shapes have the size of these, or
// one that can be seen.
func TestPictures(t *testing.T) {
	for name, c := range map[string]struct {
		axes          string
		of            tensor.Tensor
		width, height int // 0: no picture
	}{
		"HWC":           {"HWC", array(tensor.Uint8, tensor.Shape{100, 200, 3}, func(i int) float64 { return float64(i % 256) }), 200, 100},
		"CHW":           {"CHW", array(tensor.Float32, tensor.Shape{3, 100, 300}, sine), 256, 85},
		"clip":          {"THWC", array(tensor.Uint8, tensor.Shape{8, 50, 60, 3}, func(int) float64 { return 7 }), 480, 100},
		"mask":          {"HW", array(tensor.Uint8, tensor.Shape{128, 128}, func(int) float64 { return 1 }), 256, 256},
		"by shape":      {"", array(tensor.Float32, tensor.Shape{3, 64, 128}, sine), 256, 128},
		"a spectrogram": {"", array(tensor.Float32, tensor.Shape{80, 300}, sine), 256, 68},
		"two channels":  {"", array(tensor.Float32, tensor.Shape{2, 64, 128}, sine), 0, 0},
		"of no numbers": {"", array(tensor.Float32, tensor.Shape{64, 64}, func(int) float64 { return math.NaN() }), 256, 256},
	} {
		f := drawn(t, c.axes, c.of)
		if c.width == 0 {
			if f.Picture != nil {
				t.Errorf("%s: a picture", name)
			}
			continue
		}
		p, err := png.Decode(bytes.NewReader(f.Picture))
		if err != nil || p.Bounds().Dx() != c.width || p.Bounds().Dy() != c.height || f.Text != "" || f.Low != nil {
			t.Errorf("%s: %v, %v", name, err, p)
		}
	}
}

// TestWaves: the least and the greatest of each part, in -1 to 1.
func TestWaves(t *testing.T) {
	for name, of := range map[string]tensor.Tensor{
		"mono":   array(tensor.Float32, tensor.Shape{24000}, sine),
		"planes": array(tensor.Float32, tensor.Shape{2, 24000}, sine),
		"pairs":  array(tensor.Float64, tensor.Shape{24000, 2}, sine),
	} {
		f := drawn(t, "", of)
		if len(f.Low) != columns || len(f.High) != columns {
			t.Fatalf("%s: %v", name, f)
		}
		if most := slices.Max(f.High); most < 0.49 || most > 0.51 || slices.Min(f.Low) > -0.49 {
			t.Errorf("%s: %v", name, f)
		}
	}
	f := drawn(t, "", array(tensor.Int16, tensor.Shape{1000}, func(i int) float64 { return float64(i) }))
	if f.High[columns-1] != 1 || f.Low[0] != 0 {
		t.Errorf("%v", f)
	}
	f = drawn(t, "", array(tensor.Float32, tensor.Shape{1000}, func(i int) float64 { return math.Inf(1 - i%2*2) }))
	if slices.Max(f.High) != 0 {
		t.Errorf("%v", f)
	}
}

// TestTexts: the rest is written.
func TestTexts(t *testing.T) {
	for want, of := range map[string]tensor.Tensor{
		"3":         array(tensor.Int64, tensor.Shape{}, func(int) float64 { return 3 }),
		"1 2 3":     array(tensor.Int32, tensor.Shape{3}, func(i int) float64 { return float64(i + 1) }),
		"0.5 NaN":   array(tensor.Float32, tensor.Shape{2}, func(i int) float64 { return []float64{0.5, math.NaN()}[i] }),
		"":          array(tensor.Int64, tensor.Shape{0}, nil),
		"… (1000)":  array(tensor.Int64, tensor.Shape{1000}, func(i int) float64 { return float64(i) }),
		"61 62 63 ": array(tensor.Int64, tensor.Shape{1000}, func(i int) float64 { return float64(i) }),
	} {
		if f := drawn(t, "", of); f.Text != want && (len(of.Data) < 1000 || !strings.Contains(f.Text, want)) {
			t.Errorf("%q, want %q", f.Text, want)
		}
	}
	if s := short(strings.Repeat("ä", 1000)); len(s) > mostText+3 || !strings.HasSuffix(s, "ä…") {
		t.Error(s)
	}
}

// TestNewest: a sample of a real run, once it is asked for.
func TestNewest(t *testing.T) {
	root := phototest.Folder(t, 8)
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"files":{"pattern":"` + root + `","root":"/","label":"parent"}},"decode_image",
		{"center_crop":{"size":16}},{"normalize":{"mean":0.5,"std":0.5}},{"layout":{"layout":"NCHW"}},{"batch":{"size":3}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	l, err := headrace.Open(t.Context(), r, headrace.Config{}, headrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	n := NewestOf(l)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := n.Next(ctx); err == nil {
		t.Error("a sample of no batch")
	}

	type outcome struct {
		sample live.Sample
		err    error
	}
	got := make(chan outcome)
	go func() {
		s, err := n.Next(t.Context())
		got <- outcome{s, err}
	}()
	for {
		b, err := l.Next(t.Context())
		if err == io.EOF {
			continue // the next epoch follows
		}
		if err != nil {
			t.Fatal(err)
		}
		n.See(b)
		b.Release()
		select {
		case o := <-got:
			if o.err != nil || !strings.HasSuffix(o.sample.Key, ".jpg") || len(o.sample.Fields) != 2 {
				t.Fatal(o)
			}
			for _, f := range o.sample.Fields {
				switch f.Name {
				case "label":
					if f.Text != "0" && f.Text != "1" {
						t.Error(f)
					}
				case "image":
					p, err := png.Decode(bytes.NewReader(f.Picture))
					if err != nil || p.Bounds().Dx() != 256 || f.Type != "float32 [3 16 16]" && f.Type != "float32 [3, 16, 16]" {
						t.Error(f.Type, err)
					}
				default:
					t.Error(f.Name)
				}
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// TestSteps: the first sample after each step that changes it, of the same file.
func TestSteps(t *testing.T) {
	root := phototest.Folder(t, 8)
	parse := func(steps string) recipe.Recipe {
		r, err := recipe.Parse([]byte(`{"headrace":1,"seed":5,"steps":[
			{"files":{"pattern":"` + root + `","root":"/","label":"parent"}},"shuffle",` + steps + `{"batch":{"size":3}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const image = `"decode_image",{"center_crop":{"size":16}},{"normalize":{"mean":0.5,"std":0.5}},`
	all, err := Steps(t.Context(), parse(image), headrace.Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		if s.Sample.Key != all[0].Sample.Key || s.Sample.Epoch != 1 || s.Why != "" {
			t.Error(s)
		}
	}
	last := all[len(all)-1].Sample.Fields
	if got := strings.Join(names, " "); !strings.HasSuffix(got, "decode_image center_crop normalize") || len(last) != 1 ||
		last[0].Name != "image" || last[0].Picture == nil || !strings.HasPrefix(last[0].Type, "float32 ") {
		t.Error(got, last)
	}

	for i := range 8 {
		phototest.Spoil(t, root, fmt.Sprintf("%03d.jpg", i))
	}
	all, err = Steps(t.Context(), parse(`"decode_image",{"center_crop":{"size":16}},`), headrace.Options{}, 0)
	if err != nil || !strings.HasPrefix(all[len(all)-1].Sample.Fields[0].Name, "decode_image") {
		t.Error(all, err)
	}
}

// TestStepsWithFunctions: the program's functions are not called.
func TestStepsWithFunctions(t *testing.T) {
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"files":{"pattern":"` + phototest.Folder(t, 2) + `"}},"decode_image",
		{"map":{"function":"numpy:flip","gives":{"image":{"dtype":"uint8","shape":[1]}}}},{"batch":{"size":1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Steps(t.Context(), r, headrace.Options{}, 0)
	if err != nil || len(all) == 0 || !strings.Contains(all[len(all)-1].Why, "calls no functions of your program") {
		t.Error(all, err)
	}
}
