package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Every value of every channel is torchvision's number to the last bit, in each type.
func TestNormalizeEqualsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	ops := []media.Normalize{
		{Mean: [3]float64{0.485, 0.456, 0.406}, Std: [3]float64{0.229, 0.224, 0.225}},
		{Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.5, 0.5, 0.5}},
		{Std: [3]float64{1, 1, 1}},
		{Std: [3]float64{1. / 255, 1. / 255, 1. / 255}},
		{Mean: [3]float64{-2, 3, 1e-3}, Std: [3]float64{1e4, 1e3, 5e2}},
	}
	for range 60 {
		var o media.Normalize
		for c := range 3 {
			o.Mean[c], o.Std[c] = r.Float64()*2-0.5, r.ExpFloat64()+1e-3
		}
		ops = append(ops, o)
	}
	for i, op := range ops {
		p := confetti(r, media.RGB, 16, 16)
		for j := range p.Data {
			p.Data[j] = byte(j / 3)
		}
		if i%7 == 6 { // gray
			p.Color, p.Stride, p.Data = media.Gray, 16, p.Data[:256]
			op.Mean, op.Std = [3]float64{op.Mean[0], op.Mean[0], op.Mean[0]}, [3]float64{op.Std[0], op.Std[0], op.Std[0]}
		}
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16} {
			op.DType = d
			n := p.Color.Channels()
			float32s, rounded := oracle.Normalize(t, oracle.Picture{Width: 16, Height: 16, Channels: n, Pix: p.Data}, op.Mean[:n], op.Std[:n], d.String())
			if want := float32s; d == tensor.Float32 && !bytes.Equal(rounded, want) {
				t.Fatal("float32 is rounded")
			}
			if got := ran(t, p, op, media.ToLayout{Layout: media.CHW}); !bytes.Equal(got, rounded) {
				at := firstDifference(got, rounded)
				t.Fatalf("%+v of %v: differs at byte %d of %d", op, p.Form(), at, len(rounded))
			}
		}
	}
}

// 16 bits are scaled by their own greatest value; that of 257·v equals that of v in 8
// bits.
func TestNormalizeOf16Bits(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 2))
	narrow := confetti(r, media.RGB, 20, 20)
	wide := narrow
	wide.DType, wide.Stride, wide.Data = tensor.Uint16, 2*narrow.Stride, make([]byte, 2*len(narrow.Data))
	for i, v := range narrow.Data {
		wide.Data[2*i], wide.Data[2*i+1] = v, v
	}
	op := media.Normalize{Mean: [3]float64{0.485, 0.456, 0.406}, Std: [3]float64{0.229, 0.224, 0.225}}
	if !bytes.Equal(ran(t, narrow, op), ran(t, wide, op)) {
		t.Error("257·v of 65535 is another number than v of 255")
	}
	for range 1000 {
		v := uint16(r.IntN(1 << 16))
		p := media.Pixels{Width: 1, Height: 1, Stride: 2, Color: media.Gray, DType: tensor.Uint16, Data: binary.NativeEndian.AppendUint16(nil, v)}
		got := math.Float32frombits(binary.NativeEndian.Uint32(ran(t, p, media.Normalize{Mean: [3]float64{0.25, 0.25, 0.25}, Std: [3]float64{2, 2, 2}})))
		if want := (float64(v)/65535 - 0.25) / 2; math.Abs(float64(got)-want) > 1e-7 {
			t.Fatalf("%d of 65535: %v, want %v", v, got, want)
		}
	}
}

// Each type and depth can be in planes, which hold what interleaved channels do.
func TestLayouts(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 3))
	for _, color := range []media.Color{media.RGB, media.RGBA, media.Gray} {
		for _, from := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
			for _, to := range []tensor.DType{from, tensor.Float32, tensor.Float16, tensor.BFloat16} {
				if color == media.RGBA && to != from {
					continue
				}
				p := confetti(r, color, 14, 9)
				if from == tensor.Uint16 {
					p.Width, p.DType = 7, from
				}
				var ops []media.Op
				if to != from {
					ops = append(ops, media.Normalize{Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.25, 0.25, 0.25}, DType: to})
				}
				rows := ran(t, p, append(ops, media.ToLayout{Layout: media.HWC})...)
				planes := ran(t, p, append(ops, media.ToLayout{Layout: media.CHW})...)
				for c := range color.Channels() {
					for i := range p.Width * p.Height {
						n := to.Size()
						a, b := rows[(i*color.Channels()+c)*n:][:n], planes[(c*p.Width*p.Height+i)*n:][:n]
						if !bytes.Equal(a, b) {
							t.Fatalf("%v of %v %v: channel %d of pixel %d is %x in a plane, %x between others", to, from, color, c, i, b, a)
						}
					}
				}
			}
		}
	}
}

// Normalizing may come before or after the layout.
func TestOrderOfNormalizeAndLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 4))
	p := confetti(r, media.RGB, 8, 8)
	op, planes := media.Normalize{Std: [3]float64{1, 1, 1}}, media.ToLayout{Layout: media.CHW}
	if !bytes.Equal(ran(t, p, op, planes), ran(t, p, planes, op)) {
		t.Error("the order of normalize and layout makes a difference")
	}
	for _, c := range []struct {
		color media.Color
		op    media.Normalize
	}{
		{media.RGBA, op},
		{media.Gray, media.Normalize{Std: [3]float64{1, 1, 2}}},
		{media.Gray, media.Normalize{Mean: [3]float64{1, 1, 2}, Std: [3]float64{1, 1, 1}}},
	} {
		if _, err := c.op.Result(media.Form{Height: 1, Width: 1, Color: c.color, DType: tensor.Uint8}); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%+v of %v: %v", c.op, c.color, err)
		}
	}
}

func TestParseLayout(t *testing.T) {
	for name, want := range map[string]media.Layout{"NHWC": media.HWC, "NCHW": media.CHW} {
		if got, err := media.ParseLayout(name); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "HWC", "nchw", "NWHC"} {
		if _, err := media.ParseLayout(name); err == nil {
			t.Errorf("%q is a layout", name)
		}
	}
}

func TestOutputRefuses(t *testing.T) {
	p := media.Pixels{Width: 3, Height: 2, Stride: 9, Color: media.RGB, DType: tensor.Uint8, Data: make([]byte, 18)}
	rgba := media.Pixels{Width: 3, Height: 2, Stride: 12, Color: media.RGBA, DType: tensor.Uint8, Data: make([]byte, 24)}
	short := p
	short.Data = p.Data[:17]
	for _, c := range []struct {
		o      media.Output
		p      media.Pixels
		bytes  int
		stride int
		want   error
	}{
		{media.Output{DType: tensor.Uint8}, p, 17, 9, media.ErrGeometry},
		{media.Output{DType: tensor.Uint8}, p, 18, 8, media.ErrGeometry},
		{media.Output{DType: tensor.Uint8, Layout: media.CHW}, p, 17, 3, media.ErrGeometry},
		{media.Output{DType: tensor.Uint8, Layout: 2}, p, 18, 9, media.ErrGeometry},
		{media.Output{DType: tensor.Uint8}, short, 18, 9, media.ErrGeometry},
		{media.Output{DType: tensor.Uint16}, p, 36, 18, media.ErrUnsupported},
		{media.Output{DType: tensor.Float64}, p, 144, 72, media.ErrUnsupported},
		{media.Output{DType: tensor.Float32}, rgba, 96, 48, media.ErrUnsupported},
	} {
		if err := c.o.Write(make([]byte, c.bytes), c.stride, c.p); !errors.Is(err, c.want) {
			t.Errorf("%+v of %v into %d bytes, %d apart: %v", c.o, c.p.Form(), c.bytes, c.stride, err)
		}
	}
}

// Plans that MakePlan would not make are refused before anybody trusts them.
func TestPlansWithImpossibleColorsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*media.Plan){
		"kind": func(p *media.Plan) { p.Stages[0].Passes = []media.Pass{media.Adjust{Kind: media.ToGray + 1}.Pass()} },
		"factor": func(p *media.Plan) {
			p.Stages[0].Passes = []media.Pass{media.Adjust{Factor: float32(math.NaN())}.Pass()}
		},
		"hue": func(p *media.Plan) {
			p.Stages[0].Passes = []media.Pass{media.Adjust{Kind: media.Hue, Factor: 1e30}.Pass()}
		},
		"gray":    func(p *media.Plan) { p.Stages[0].Passes = []media.Pass{media.Adjust{Kind: media.ToGray}.Pass()} },
		"color":   func(p *media.Plan) { p.Color = media.RGBA },
		"numbers": func(p *media.Plan) { p.Options.Color, p.Color, p.Output.DType = media.RGBA, media.RGBA, tensor.Float32 },
		"layout":  func(p *media.Plan) { p.Output.Layout = 2 },
		"bits":    func(p *media.Plan) { p.Options.DType = tensor.Uint16 },
	} {
		plan := planned(t, 3, 3, nil)
		if err := media.CheckTarget(make([]byte, 1000), 48, &plan); err != nil {
			t.Fatal(err)
		}
		spoil(&plan)
		if err := media.CheckTarget(make([]byte, 1000), 48, &plan); !errors.Is(err, media.ErrGeometry) && !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ran is what the runner in plain Go makes of pixels.
func ran(t *testing.T, p media.Pixels, ops ...media.Op) []byte {
	t.Helper()
	var plan media.Plan
	o := media.Options{Color: p.Color, DType: p.DType}
	if err := media.MakePlan(media.Info{Width: p.Width, Height: p.Height}, o, steps(ops...), nil, &plan); err != nil {
		t.Fatal(err)
	}
	f := plan.Form()
	dst := make([]byte, f.Height*f.Width*f.Color.Channels()*f.DType.Size())
	if err := (media.GoRunner{}).Run(dst, f.RowBytes(), p, &plan); err != nil {
		t.Fatal(err)
	}
	return dst
}
