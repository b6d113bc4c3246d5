//go:build cgo

package turbo

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/resample"
	"github.com/headrace/headrace/media/yuv"
	_ "github.com/headrace/headrace/media/yuv/fast"
	"github.com/headrace/headrace/tensor"
)

// frameOf is an image of this size in planes, whose rows are followed by gap bytes,
// made by draw.
func frameOf(width, height, chromaX, chromaY, gap int, siting yuv.Siting, draw func(part, x, y int) byte) *yuv.Picture {
	p := &yuv.Picture{Kind: yuv.YUV, Width: width, Height: height, Bits: 8, ChromaX: chromaX, ChromaY: chromaY, Siting: siting, Matrix: yuv.BT709}
	for i := range p.Parts {
		w, h := p.PartSize(i)
		part := &p.Parts[i]
		*part = yuv.Part{Stride: w + gap, Step: 1, Data: make([]byte, (h-1)*(w+gap)+w)}
		for y := range h {
			for x := range w {
				part.Data[y*part.Stride+x] = draw(i, x, y)
			}
		}
	}
	return p
}

// planOf is a random plan that begins with a resize, of what is stored in an orientation.
func planOf(t *testing.T, r *rand.Rand, width, height int) *media.Plan {
	t.Helper()
	info := media.Info{Width: width, Height: height, Orientation: 1 + r.IntN(8)}
	out := func(n int) int { return 1 + r.IntN(min(n+8, 60)) }
	var steps []media.Step
	if r.IntN(2) == 0 {
		steps = append(steps, media.Step{Op: media.CenterCrop{Height: 1 + r.IntN(height), Width: 1 + r.IntN(width)}})
	}
	filter := []media.Filter{media.Bilinear, media.Bicubic, media.Box}[r.IntN(3)]
	steps = append(steps, media.Step{Op: media.ResizeExact{Height: out(height), Width: out(width), Filter: filter}})
	if r.IntN(2) == 0 {
		steps = append(steps, media.Step{Op: media.Pad{Left: 2, Top: 3, Right: 1, Bottom: 4, Fill: [4]uint16{9, 8, 7}}})
	}
	if r.IntN(2) == 0 {
		steps = append(steps, media.Step{Op: media.RandomFlip{P: 1}})
	}
	if r.IntN(2) == 0 {
		steps = append(steps, media.Step{Op: media.ToGrayscale{Channels: 3}})
	}
	if r.IntN(2) == 0 {
		steps = append(steps, media.Step{Op: media.Normalize{Mean: [3]float64{0.4, 0.5, 0.6}, Std: [3]float64{0.2, 0.3, 0.4}}})
	}
	plan := new(media.Plan)
	if err := media.MakePlan(info, media.Options{Orient: true, Mode: media.Fast}, steps, decodertest.Draws(0.3), plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// A frame is what the definition in Go makes of it, with every set of kernels, whatever
// follows the resize.
func TestFramesEqualTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	done := 0
	for range 400 {
		width, height := 1+r.IntN(150), 1+r.IntN(90)
		if r.IntN(8) == 0 {
			width += 700 // reduced by more than a half before it is resized
		}
		p := frameOf(width, height, r.IntN(3), r.IntN(2), r.IntN(3)*16, yuv.Siting(r.IntN(3)), func(int, int, int) byte { return byte(r.Uint32()) })
		if r.IntN(6) == 0 {
			p.Kind = yuv.Gray
		}
		plan := planOf(t, r, width, height)
		if !plan.Stages[0].Resizes() {
			continue
		}
		want := byDefinition(t, p, plan)
		for _, name := range levels() {
			undo := setLevel(name)
			got := space(plan)
			ok, err := Runner{}.RunPlanes(got, plan.Form().RowBytes(), p, plan)
			undo()
			if err != nil || !ok {
				t.Fatalf("%v, %v", ok, err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s, %d×%d, chroma %d %d, siting %d: differs: %+v", name, width, height, p.ChromaX, p.ChromaY, p.Siting, plan)
			}
			done++
		}
	}
	if done < 300 {
		t.Fatalf("only %d frames were compared", done)
	}
}

// byDefinition carries out a plan by Go alone: means, kernels of package resample,
// conversion of package yuv, and then the stages that are left.
func byDefinition(t *testing.T, p *yuv.Picture, plan *media.Plan) []byte {
	t.Helper()
	s := untwisted(&plan.Stages[0], &picture{width: p.Width, height: p.Height, orientation: plan.Orientation})
	v, part := s.Visible(), s.Part.Of(s.Crop)
	small := &yuv.Picture{Kind: p.Kind, Width: v.Width, Height: v.Height, Bits: 8, Matrix: p.Matrix}
	for i := range parts(p) {
		w, h := p.PartSize(i)
		across, down := extent{from: part.X, size: part.Width, in: w, out: s.Width}, extent{from: part.Y, size: part.Height, in: h, out: s.Height}
		if i > 0 {
			across.subsample(p.ChromaX, p.Siting != yuv.Centre)
			down.subsample(p.ChromaY, p.Siting == yuv.TopLeft)
		}
		ax, xs := across.source(v.X, v.Width, s.Filter, false)
		ay, ys := down.source(v.Y, v.Height, s.Filter, false)
		at := func(x, y int) int {
			return int(p.Parts[i].Data[(ys.first+min(y, ys.n-1))*p.Parts[i].Stride+xs.first+min(x, xs.n-1)])
		}
		mean := make([]byte, ax.In*ay.In)
		for y := range ay.In {
			for x := range ax.In {
				sum, n := 0, 1<<(xs.halved+ys.halved)
				for k := range n {
					sum += at(x<<xs.halved+k&(1<<xs.halved-1), y<<ys.halved+k>>xs.halved)
				}
				half := n / 2
				if half > 0 {
					half -= y & 1
				}
				mean[y*ax.In+x] = byte((sum + half) / n)
			}
		}
		var tx, ty resample.Table
		tx.Set(ax)
		ty.Set(ay)
		narrow := make([]byte, v.Width*ay.In)
		for y := range ay.In {
			resample.Row(narrow[y*v.Width:][:v.Width], mean[y*ax.In:][:ax.In], 1, 0, &tx)
		}
		out := make([]byte, v.Width*v.Height)
		for y := range v.Height {
			resample.Column(out[y*v.Width:][:v.Width], narrow, v.Width, 0, ty.Spans[y], ty.Weights)
		}
		small.Parts[i] = yuv.Part{Data: out, Stride: v.Width, Step: 1}
	}
	rgb := media.Pixels{Data: make([]byte, 3*v.Width*v.Height), Stride: 3 * v.Width, Width: v.Width, Height: v.Height, DType: tensor.Uint8}
	if err := yuv.Convert(yuv.Target{Data: rgb.Data, Stride: rgb.Stride}, small); err != nil {
		t.Fatal(err)
	}
	rest := *plan
	rest.Orientation = 1
	rest.Stages = append([]media.Stage{s}, plan.Stages[1:]...)
	first := &rest.Stages[0]
	first.Crop, first.Part = media.Rect{Width: v.Width, Height: v.Height}, media.Part{}
	first.Width, first.Height = v.Width, v.Height
	first.Window.X, first.Window.Y = first.Window.X-v.X, first.Window.Y-v.Y
	dst := space(plan)
	if err := (media.GoRunner{}).Run(dst, plan.Form().RowBytes(), rgb, &rest); err != nil {
		t.Fatal(err)
	}
	return dst
}

// Where colours change evenly, it does not matter whether planes are resized or pixels:
// the results differ by rounding alone, wherever samples of chroma are. A shift by a
// quarter of a sample would show in the mean.
func TestFramesAreInPlace(t *testing.T) {
	for _, siting := range []yuv.Siting{yuv.Left, yuv.Centre, yuv.TopLeft} {
		for _, size := range [][2]int{{64, 96}, {23, 37}, {9, 11}} {
			for orientation := 1; orientation <= 8; orientation++ {
				p := frameOf(240, 160, 1, 1, 0, siting, func(part, x, y int) byte {
					noise := (x*73856093 ^ y*19349663) >> 4 & 7 // without it all means would be rounded alike
					if part == 0 {
						return byte(100 + (x+y)/4 + noise)
					}
					return byte(60 + (2-part)*x + (part-1)*y + noise)
				})
				plan := new(media.Plan)
				steps := []media.Step{{Op: media.CenterCrop{Height: 100, Width: 90}}, {Op: media.ResizeExact{Height: size[0], Width: size[1]}}}
				if err := media.MakePlan(media.Info{Width: 240, Height: 160, Orientation: orientation}, media.Options{Orient: true, Mode: media.Fast}, steps, nil, plan); err != nil {
					t.Fatal(err)
				}
				got := space(plan)
				if ok, err := (Runner{}).RunPlanes(got, plan.Form().RowBytes(), p, plan); err != nil || !ok {
					t.Fatalf("%v, %v", ok, err)
				}
				rgb := media.Pixels{Data: make([]byte, 3*240*160), Stride: 3 * 240, Width: 240, Height: 160, DType: tensor.Uint8}
				if err := yuv.Convert(yuv.Target{Data: rgb.Data, Stride: rgb.Stride}, p); err != nil {
					t.Fatal(err)
				}
				want, err := ran(media.GoRunner{}, rgb, plan)
				if err != nil {
					t.Fatal(err)
				}
				w, h := size[1], size[0]
				var sum [3]float64
				for y := 2; y < h-2; y++ { // at the edges of a crop, chroma goes on
					for x := 2; x < w-2; x++ {
						for c := range 3 {
							i := (y*w+x)*3 + c
							d := int(got[i]) - int(want[i])
							sum[c] += float64(d)
							if d < -5 || d > 5 {
								t.Fatalf("siting %d, %v, orientation %d: channel %d of pixel (%d, %d) is %d, want %d", siting, size, orientation, c, x, y, got[i], want[i])
							}
						}
					}
				}
				for c := range sum {
					most := 0.3
					if h < 10 { // few pixels, and of means: there a sample of chroma makes two levels
						most = 1.25
					}
					if mean := sum[c] / float64((w-4)*(h-4)); math.Abs(mean) > most {
						t.Errorf("siting %d, %v, orientation %d: channel %d is off by %.2f", siting, size, orientation, c, mean)
					}
				}
			}
		}
	}
}

// What cannot be resized in planes is left to others, and what does not fit is refused.
func TestFramesThatAreNotForPlanes(t *testing.T) {
	p := frameOf(32, 32, 1, 1, 0, yuv.Left, func(int, int, int) byte { return 1 })
	plan := func(mode media.Mode, side int) *media.Plan {
		plan := new(media.Plan)
		if err := media.MakePlan(media.Info{Width: 32, Height: 32}, media.Options{Mode: mode}, []media.Step{{Op: media.ResizeExact{Height: side, Width: side}}}, nil, plan); err != nil {
			t.Fatal(err)
		}
		return plan
	}
	dst := make([]byte, 3*32*32)
	deep := *p
	deep.Bits = 10
	for _, c := range []struct {
		p    *yuv.Picture
		plan *media.Plan
	}{{p, plan(media.Exact, 16)}, {p, plan(media.Fast, 32)}, {&deep, plan(media.Fast, 16)}} {
		if ok, err := (Runner{}).RunPlanes(dst, 3*32, c.p, c.plan); ok || err != nil {
			t.Errorf("%+v: %v, %v", c.plan, ok, err)
		}
	}
	short := *p
	short.Parts[2].Data = short.Parts[2].Data[:200]
	if _, err := (Runner{}).RunPlanes(dst, 3*32, &short, plan(media.Fast, 16)); err == nil {
		t.Error("a plane that is too short was read")
	}
	if _, err := (Runner{}).RunPlanes(dst[:10], 3*32, p, plan(media.Fast, 16)); err == nil {
		t.Error("a target that is too short was written")
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, size := range [][2]int{{640, 360}, {1280, 720}, {1920, 1080}} {
		b.Run("", func(b *testing.B) {
			p := frameOf(size[0], size[1], 1, 1, 0, yuv.Left, func(part, x, y int) byte { return byte(x*y + part) })
			plan := new(media.Plan)
			if err := media.MakePlan(media.Info{Width: size[0], Height: size[1]}, media.Options{Mode: media.Fast}, []media.Step{{Op: media.ResizeExact{Height: 224, Width: 224}}}, nil, plan); err != nil {
				b.Fatal(err)
			}
			dst := space(plan)
			for b.Loop() {
				if _, err := (Runner{}).RunPlanes(dst, 3*224, p, plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Resized planes are where they were: of colours that change evenly, each sample of the
// result is what the formula of its siting says, and chroma of 4:4:4 becomes 4:2:0.
func TestPlanesAreInPlace(t *testing.T) {
	for _, siting := range []yuv.Siting{yuv.Left, yuv.Centre, yuv.TopLeft} {
		for _, chroma := range []int{0, 1} {
			for _, size := range [][2]int{{97, 61}, {41, 33}, {300, 171}} {
				p := frameOf(120, 90, chroma, chroma, 0, siting, func(part, x, y int) byte {
					noise := (x*73856093 ^ y*19349663) >> 4 & 7 // or all means are rounded alike
					if part == 0 {
						return byte(20 + x + y)
					}
					return byte(20 + (x+y)<<chroma + noise) // a level for a pixel
				})
				err := Runner{}.ResizePlanes(p, size[0], size[1], 1, 1, func(small *yuv.Picture) error {
					if err := small.Check(); err != nil || small.Width != size[0] || small.Height != size[1] || small.ChromaX != 1 || small.Siting != siting {
						t.Fatalf("%+v: %v", small, err)
					}
					// A sample is on the first of two pixels, or between them.
					at := func(n int, sited bool) float64 {
						if sited {
							return 2*float64(n) + 0.5
						}
						return 2*float64(n) + 1
					}
					// What was drawn there: each sample with its number.
					drawn := func(pixel float64, sited bool) float64 {
						if chroma == 0 {
							return pixel - 0.5
						}
						if sited {
							return pixel - 0.5 // sample i is on pixel 2i
						}
						return pixel - 1
					}
					width, height := small.PartSize(1)
					var sum float64
					n := 0
					for y := 4; y < height-4; y++ {
						for x := 4; x < width-4; x++ {
							right, below := siting != yuv.Centre, siting == yuv.TopLeft
							px := at(x, right) * 120 / float64(size[0])
							py := at(y, below) * 90 / float64(size[1])
							want := 23.5 + drawn(px, right) + drawn(py, below)
							got := float64(small.Parts[1].Data[small.Parts[1].First+y*small.Parts[1].Stride+x])
							sum += got - want
							n++
						}
					}
					if mean := sum / float64(n); n < 50 || math.Abs(mean) > 0.3 {
						t.Errorf("siting %d, chroma %d, %v: off by %.2f levels", siting, chroma, size, mean)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	deep := frameOf(8, 8, 1, 1, 0, yuv.Left, func(int, int, int) byte { return 1 })
	deep.Bits = 10
	if err := (Runner{}).ResizePlanes(deep, 4, 4, 1, 1, func(*yuv.Picture) error { return nil }); err == nil {
		t.Error("planes of 10 bits were resized")
	}
}
