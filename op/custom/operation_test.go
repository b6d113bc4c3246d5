package custom_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"pgregory.net/rapid"
)

// The operations of these tests. Each has a plain form too, which works on a plainSample.

// cipher changes every byte, in place or not; twice is once too many.
type cipher struct {
	Key   int  `json:"key" doc:"what is added to bytes"`
	Alloc bool `json:"alloc" doc:"whether to use other memory"`
}

type cipherIn struct {
	Bytes []byte `field:"bytes"`
}

type cipherOut struct {
	Bytes []byte `field:"bytes"`
}

func (c *cipher) Do(_ context.Context, in cipherIn) (out cipherOut, err error) {
	out.Bytes = in.Bytes
	if c.Alloc {
		out.Bytes = make([]byte, len(in.Bytes))
	}
	for i, b := range in.Bytes {
		out.Bytes[i] = b ^ byte(c.Key)
	}
	return out, nil
}

// relabel makes another label of the key, and a text.
type relabel struct {
	Times int `json:"times" doc:"what labels are multiplied with"`
}

type relabelIn struct {
	Key   string `field:"key"`
	Label int64  `field:"label"`
	ID    sample.ID
}

type relabelOut struct {
	Label int64     `field:"label"`
	Name  string    `field:"name"`
	Place [2]uint16 `field:"place"`
}

func (r *relabel) Do(_ context.Context, in relabelIn) (relabelOut, error) {
	return relabelOut{in.Label*int64(r.Times) + 1, filepath.Base(in.Key), [2]uint16{uint16(in.ID.Index), uint16(in.ID.Epoch)}}, nil
}

// invert changes an image in place, from a level on that may be drawn.
type invert struct {
	From *int `json:"from" doc:"the level; by default drawn for each image"`
}

type invertIn struct {
	Image media.Pixels `field:"image"`
	Rand  headrace.Rand
}

type invertOut struct {
	Image media.Pixels `field:"image"`
	From  uint8        `field:"from"`
}

func (o *invert) Check() error {
	if o.From != nil && (*o.From < 0 || *o.From > 255) {
		return recipe.Wrong("from", "is %d: must be from 0 to 255", *o.From)
	}
	return nil
}

func (o *invert) Do(_ context.Context, in invertIn) (invertOut, error) {
	from := in.Rand.IntN(256)
	if o.From != nil {
		from = *o.From
	}
	for y := range in.Image.Height {
		row := in.Image.Row(y)
		for x, v := range row {
			if int(v) >= from {
				row[x] = ^v
			}
		}
	}
	return invertOut{in.Image, uint8(from)}, nil
}

// thin keeps every other row and column, in memory of the loader or of its own.
type thin struct {
	Own bool `json:"own" doc:"whether to use other memory"`
}

type thinIn struct {
	Image  media.Pixels `field:"image"`
	Canvas headrace.Canvas
}

type imageOut struct {
	Image media.Pixels `field:"image"`
}

func (*thin) Result(f media.Form) (media.Form, error) {
	for _, n := range []*int{&f.Height, &f.Width} {
		if *n != media.Unknown {
			*n = (*n + 1) / 2
		}
	}
	return f, nil
}

func (o *thin) Do(_ context.Context, in thinIn) (imageOut, error) {
	form, _ := o.Result(in.Image.Form())
	if o.Own {
		in.Canvas = headrace.Canvas{}
	}
	spare := in.Canvas.Pixels(form) // not given out
	clear(spare.Data)
	out := in.Canvas.Pixels(form)
	n := out.PixelBytes()
	for y := range out.Height {
		for x := range out.Width {
			copy(out.Row(y)[x*n:][:n], in.Image.Row(2 * y)[2*x*n:])
		}
	}
	return imageOut{out}, nil
}

// trim leaves off as much as is drawn: nobody knows the size before, and the result
// is in the memory of what was given.
type trim struct{}

type trimIn struct {
	Image media.Pixels `field:"image"`
	Rand  headrace.Rand
}

func (*trim) Result(f media.Form) (media.Form, error) {
	f.Height, f.Width = media.Unknown, media.Unknown
	return f, nil
}

func (*trim) Do(_ context.Context, in trimIn) (imageOut, error) {
	p := in.Image
	random := rand.New(&in.Rand)
	top, left := random.IntN(p.Height), random.IntN(p.Width)
	p.Data = p.Data[top*p.Stride+left*p.PixelBytes():]
	p.Height, p.Width = p.Height-top, p.Width-left
	return imageOut{p}, nil
}

// mean tells the mean of each channel, and gives the image out under another name too,
// in the same memory.
type mean struct {
	Digits [2]int `json:"digits" doc:"nothing"`
}

type meanIn struct {
	Image media.Pixels `field:"image"`
}

type meanOut struct {
	Mean [2][2]float32 `field:"mean"`
	Dark bool          `field:"dark"`
	Twin media.Pixels  `field:"twin"`
}

func (o *mean) Do(_ context.Context, in meanIn) (out meanOut, err error) {
	sum, n := 0, 0
	for y := range in.Image.Height {
		for _, v := range in.Image.Row(y) {
			sum, n = sum+int(v), n+1
		}
	}
	out.Mean = [2][2]float32{{float32(sum) / float32(n), 1}, {2, 3}}
	out.Dark = sum < 100*n
	out.Twin = in.Image
	return out, nil
}

// raw decodes by itself, and leaves no bytes.
type raw struct{}

type rawIn struct {
	Bytes []byte `field:"bytes,take"`
}

func (raw) Result(media.Form) (media.Form, error) {
	return media.Form{Height: 4, Width: 5, Color: media.Gray}, nil
}

func (*raw) Do(_ context.Context, in rawIn) (imageOut, error) {
	return imageOut{media.Pixels{Data: in.Bytes[3:23], Stride: 5, Width: 5, Height: 4, Color: media.Gray}}, nil
}

// trouble does what its sample's number says.
type trouble struct {
	Skip  int `json:"skip" doc:"remainder of the numbers that are dropped"`
	Fail  int `json:"fail" doc:"of those that fail"`
	Panic int `json:"panic" doc:"of those that panic"`
	Of    int `json:"of" doc:"what numbers are divided by" min:"1"`
}

type troubleIn struct{ ID sample.ID }

func (o *trouble) Do(_ context.Context, in troubleIn) (struct{}, error) {
	switch int(in.ID.Index) % o.Of {
	case o.Skip:
		return struct{}{}, pipe.Skip
	case o.Fail:
		return struct{}{}, errFail
	case o.Panic:
		panic("in the operation")
	}
	return struct{}{}, nil
}

var errFail = errors.New("it does not work")

var registerAll = sync.OnceValue(func() error {
	return errors.Join(
		headrace.Register("cipher", "Changes bytes.", func() headrace.Operation[cipherIn, cipherOut] { return &cipher{Key: 85} }),
		headrace.Register("relabel", "Makes labels.", func() headrace.Operation[relabelIn, relabelOut] { return &relabel{Times: 10} }),
		headrace.Register("negate", "Inverts.", func() headrace.Operation[invertIn, invertOut] { return new(invert) }),
		headrace.Register("thin", "Keeps half.", func() headrace.Operation[thinIn, imageOut] { return new(thin) }),
		headrace.Register("trim", "Leaves off.", func() headrace.Operation[trimIn, imageOut] { return new(trim) }),
		headrace.Register("mean", "Tells.", func() headrace.Operation[meanIn, meanOut] { return new(mean) }),
		headrace.Register("raw", "Decodes.", func() headrace.Operation[rawIn, imageOut] { return new(raw) }),
		headrace.Register("trouble", "Makes some.", func() headrace.Operation[troubleIn, struct{}] { return &trouble{-1, -1, -1, 1} }),
	)
})

func register(t testing.TB) {
	t.Helper()
	if err := registerAll(); err != nil {
		t.Fatal(err)
	}
}

// plainSample is a sample in a loop without a loader.
type plainSample struct {
	id          sample.ID
	key, name   string
	bytes       []byte
	label       int64
	image, twin media.Pixels
	from        uint8
	mean        [2][2]float32
	dark        bool
	place       [2]uint16
	chance      order.Key
}

func (s *plainSample) rand(step string) headrace.Rand {
	return custom.NewRand(s.chance, order.OpID(step))
}

// plainStep is a step of a recipe, and what it does in a plain loop.
type plainStep struct {
	step  recipe.Step
	plain func(*plainSample) error
}

// transform is a step on the image, carried out by itself in plain Go.
func transform(args recipe.Transform, name string) plainStep {
	args = recipe.Recipe{Steps: []recipe.Step{{Args: args}}}.Complete().Steps[0].Args.(recipe.Transform)
	return plainStep{recipe.Step{Name: name, Args: args}, func(s *plainSample) error {
		var plan media.Plan
		info := media.Info{Width: s.image.Width, Height: s.image.Height, Orientation: 1}
		step := []media.Step{{Op: args.Transform(), ID: order.OpID(name)}}
		if err := media.MakePlan(info, media.Options{Color: s.image.Color, DType: s.image.DType}, step, s.chance, &plan); err != nil {
			return err
		}
		out := headrace.Canvas{}.Pixels(plan.Form())
		err := media.GoRunner{}.Run(out.Data, out.Stride, s.image, &plan)
		s.image = out
		return err
	}}
}

func clonePixels(p media.Pixels) media.Pixels {
	out := headrace.Canvas{}.Pixels(p.Form())
	record.Image{Pixels: p}.CopyTo(out.Data)
	return out
}

// decoded is what decode_image gives.
var decoded = sample.Schema{{Name: "image", Type: sample.Type{
	Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{tensor.Unknown, tensor.Unknown, 3}, Axes: "HWC",
}}}

// randomChain draws a recipe of files that has operations of a program before, between
// and after those on images.
func randomChain(t *rapid.T) []plainStep {
	ctx := context.Background()
	var chain []plainStep
	n := 0
	name := func(op string) string { n++; return fmt.Sprintf("%s_%d", op, n) }
	add := func(op recipe.Args, label string, plain func(s *plainSample, step string)) {
		label = name(label)
		chain = append(chain, plainStep{recipe.Step{Name: label, Args: op}, func(s *plainSample) error { plain(s, label); return nil }})
	}
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	addCipher := func(key int) {
		c := &cipher{Key: key, Alloc: rapid.Bool().Draw(t, "alloc")}
		add(headrace.Args(c), "cipher", func(s *plainSample, _ string) {
			out, _ := c.Do(ctx, cipherIn{s.bytes})
			s.bytes = out.Bytes
		})
	}
	addRelabel := func() {
		r := &relabel{Times: rapid.IntRange(-3, 3).Draw(t, "times")}
		add(headrace.Args(r), "relabel", func(s *plainSample, _ string) {
			out, _ := r.Do(ctx, relabelIn{s.key, s.label, s.id})
			s.label, s.name, s.place = out.Label, out.Name, out.Place
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "before") {
		if pick("before", "cipher", "relabel") == "relabel" {
			addRelabel()
			continue
		}
		key := rapid.IntRange(0, 255).Draw(t, "key")
		addCipher(key)
		addCipher(key)
	}
	chain = append(chain, plainStep{recipe.Step{Op: "decode_image"}, func(s *plainSample) error {
		info, err := media.Probe(s.bytes)
		if err != nil {
			return err
		}
		var plan media.Plan
		if err := media.MakePlan(info, media.Options{Orient: true}, nil, s.chance, &plan); err != nil {
			return err
		}
		d, err := media.DecoderFor(info.Format)
		if err != nil {
			return err
		}
		s.image = headrace.Canvas{}.Pixels(plan.Form())
		return d.DecodeInto(s.image.Data, s.image.Stride, s.bytes, &info, &plan)
	}})
	for range rapid.IntRange(0, 5).Draw(t, "between") {
		switch pick("between", "pixels", "pixels", "pixels", "relabel", "negate", "thin", "trim") {
		case "pixels": // of what is smaller, some are an error
			steps, out := recipetest.Pixels(t, 1, decoded)
			if out[0].Type.Shape[2] != 3 {
				continue
			}
			for _, s := range steps {
				chain = append(chain, transform(s.Args.(recipe.Transform), name(s.Op)))
			}
		case "relabel":
			addRelabel()
		case "negate":
			o := new(invert)
			if rapid.Bool().Draw(t, "given") {
				o.From = new(rapid.IntRange(0, 255).Draw(t, "from"))
			}
			add(headrace.Args(o), "negate", func(s *plainSample, step string) {
				out, _ := o.Do(ctx, invertIn{s.image, s.rand(step)})
				s.from = out.From
			})
		case "thin":
			o := &thin{Own: rapid.Bool().Draw(t, "own")}
			add(headrace.Args(o), "thin", func(s *plainSample, _ string) {
				out, _ := o.Do(ctx, thinIn{Image: s.image})
				s.image = out.Image
			})
		case "trim":
			o := new(trim)
			add(headrace.Args(o), "trim", func(s *plainSample, step string) {
				out, _ := o.Do(ctx, trimIn{s.image, s.rand(step)})
				s.image = out.Image
			})
		}
	}
	chain = append(chain, transform(&image.CenterCrop{Size: recipe.Size{Height: rapid.IntRange(1, 40).Draw(t, "height"),
		Width: 7}}, name("crop")))
	switch pick("behind", "nothing", "relabel", "negate", "mean", "mean and invert") {
	case "relabel":
		addRelabel()
	case "negate":
		o := new(invert)
		add(headrace.Args(o), "negate", func(s *plainSample, step string) {
			out, _ := o.Do(ctx, invertIn{s.image, s.rand(step)})
			s.from = out.From
		})
	case "mean":
		addMean(add)
	case "mean and invert": // the twin stays as it was
		addMean(add)
		o := &invert{From: new(0)}
		add(headrace.Args(o), "negate", func(s *plainSample, step string) {
			out, _ := o.Do(ctx, invertIn{s.image, s.rand(step)})
			s.from = out.From
		})
	}
	return chain
}

func addMean(add func(recipe.Args, string, func(*plainSample, string))) {
	o := new(mean)
	add(headrace.Args(o), "mean", func(s *plainSample, _ string) {
		out, _ := o.Do(context.Background(), meanIn{s.image})
		s.mean, s.dark, s.twin = out.Mean, out.Dark, clonePixels(s.image)
	})
}

// plainLoop is what a loader of the chain should yield, row by row, as text.
func plainLoop(t *rapid.T, root string, chain []plainStep) (rows []string, lost []string) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	for index, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := plainSample{id: sample.ID{Source: "files", Index: int64(index)}, key: path, bytes: data,
			chance: order.NewKey(7, 0, order.SourceID("files"), int64(index))}
		if strings.Contains(path, "class1") {
			s.label = 1
		}
		for _, step := range chain {
			if err = step.plain(&s); err != nil {
				break
			}
		}
		if err != nil {
			lost = append(lost, path)
			continue
		}
		rows = append(rows, s.text())
	}
	return rows, lost
}

func (s *plainSample) text() string {
	shown := func(p media.Pixels) string {
		if p.Data == nil {
			return ""
		}
		out := make([]byte, p.Height*p.Form().RowBytes())
		record.Image{Pixels: p}.CopyTo(out)
		return fmt.Sprintf("%x", out)
	}
	return fmt.Sprintf("%s %s %d %v %d %v %v %s %s", s.key, s.name, s.label, s.place, s.from, s.mean, s.dark, shown(s.image),
		shown(s.twin))
}

// loaded is row i of a batch in the form of plainSample.text.
func loaded(b *headrace.Batch, i int) string {
	var s plainSample
	row := func(name string) []byte {
		t, ok := b.Tensor(name)
		if !ok {
			return nil
		}
		return t.Row(i).Data
	}
	s.key = b.Text("key")[i]
	if names := b.Text("name"); names != nil {
		s.name = names[i]
	}
	decode := func(name string, to any) {
		if data := row(name); data != nil {
			if _, err := binary.Decode(data, binary.NativeEndian, to); err != nil {
				panic(err)
			}
		}
	}
	decode("label", &s.label)
	decode("place", &s.place)
	decode("from", &s.from)
	decode("mean", &s.mean)
	decode("dark", &s.dark)
	shown := func(name string) string {
		if data := row(name); data != nil {
			return fmt.Sprintf("%x", data)
		}
		return ""
	}
	return fmt.Sprintf("%s %s %d %v %d %v %v %s %s", s.key, s.name, s.label, s.place, s.from, s.mean, s.dark, shown("image"),
		shown("twin"))
}

func TestRecipesWithOperationsAreAPlainLoop(t *testing.T) {
	leak.Check(t)
	register(t)
	root := phototest.Folder(t, 9)
	phototest.Spoil(t, root, "003.jpg")
	rapid.Check(t, func(rt *rapid.T) {
		chain := randomChain(rt)
		r := recipe.Recipe{Seed: 7, Steps: []recipe.Step{{Args: &input.Files{Pattern: recipe.Path(root), Root: "/", Label: "parent"}}}}
		for _, s := range chain {
			r.Steps = append(r.Steps, s.step)
		}
		r.Steps = append(r.Steps, recipe.Step{Args: &flow.Batch{Size: 4}})
		want, wantLost := plainLoop(rt, root, chain)
		config := headrace.Config{
			Epochs: new(1), Fuse: new(rapid.Bool().Draw(rt, "fuse")), OnError: headrace.Skip, MaxErrors: headrace.ErrorRate(1),
			Workers: new(rapid.IntRange(1, 5).Draw(rt, "workers")), Memory: new(int64(rapid.SampledFrom([]int{120_000,
				1 << 20, 1 << 28}).Draw(rt, "memory"))),
			Order: rapid.SampledFrom([]headrace.Order{headrace.InputOrder, headrace.CompletionOrder}).Draw(rt, "order"),
		}
		var lost []string
		l, err := headrace.Open(t.Context(), r, config, headrace.Options{Lost: func(l headrace.Lost) { lost = append(lost, l.Key) }})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		if err := l.Start(l.Info().State, nil); err != nil {
			rt.Fatal(err)
		}
		var got []string
		for {
			b, err := l.Next(t.Context())
			if err != nil {
				if l.Epoch().Last {
					break
				}
				rt.Fatal(err)
			}
			for i := range b.Rows() {
				got = append(got, loaded(b, i))
			}
			b.Release()
		}
		if config.Order == headrace.CompletionOrder {
			slices.Sort(got)
			slices.Sort(want)
			slices.Sort(lost)
		}
		if !slices.Equal(lost, wantLost) {
			rt.Fatalf("lost %v, expected %v", lost, wantLost)
		}
		if len(got) != len(want) {
			rt.Fatalf("%d rows, expected %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				rt.Fatalf("row %d is\n%.300s, expected\n%.300s", i, got[i], want[i])
			}
		}
		l.Close()
		if used := l.Stats().Memory.Used; used != 0 {
			rt.Fatalf("%d bytes are still held", used)
		}
	})
}

// troubled is a recipe whose operation drops, fails or panics for some samples.
func troubled(root string, what trouble, batch flow.Batch) recipe.Recipe {
	return recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		{Args: &input.Files{Pattern: recipe.Path(root), Root: "/", Label: "parent"}},
		{Args: &flow.Shuffle{Seed: new(uint64(3))}},
		{Args: headrace.Args(&what)},
		{Op: "decode_image"},
		{Args: &image.RandomResizedCrop{Size: recipe.Size{Height: 16}}},
		{Op: "random_flip"},
		{Args: &batch},
	}}
}

// index is the place of an image of phototest.Folder in the source, which has one
// class after the other.
func index(key string, n int) int {
	var i int
	fmt.Sscanf(filepath.Base(key), "%d", &i)
	return i/2 + i%2*((n+1)/2)
}

func TestWhatOperationsDoToTheirSamples(t *testing.T) {
	leak.Check(t)
	register(t)
	root := phototest.Folder(t, 37)
	for _, workers := range []int{1, 4} {
		var lost []headrace.Lost
		what := trouble{Skip: 1, Fail: 3, Panic: 5, Of: 9}
		l := loadertest.Open(t, troubled(root, what, flow.Batch{Size: 4}), headrace.Config{Epochs: new(1), Workers: &workers, OnError: headrace.Skip},
			headrace.Options{Lost: func(l headrace.Lost) { lost = append(lost, l) }})
		good := func(key string) bool { return !slices.Contains([]int{1, 3, 5}, index(key, 37)%9) }
		loadertest.Compare(t, fmt.Sprintf("%d workers", workers), loadertest.Drain(t, l), slices.Collect(slices.Chunk(loadertest.Sequential(t, root, 0, good), 4)))
		for _, loss := range lost {
			var panicked *pipe.PanicError
			switch i := index(loss.Key, 37) % 9; {
			case i == 3 && errors.Is(loss.Err, errFail):
			case i == 5 && errors.As(loss.Err, &panicked) && strings.Contains(string(panicked.Stack), "trouble"):
			default:
				t.Errorf("lost %s: %v", loss.Key, loss.Err)
			}
			if loss.Stage != "trouble" || !strings.Contains(loss.Err.Error(), loss.Key) {
				t.Errorf("lost in %s: %v", loss.Stage, loss.Err)
			}
		}
		if e := l.Epoch(); len(lost) != 8 || e.Lost != 8 || e.Samples != 25 || l.Info().Exact {
			t.Errorf("%d lost, %+v, exact: %v", len(lost), e, l.Info().Exact)
		}
		l.Close()
		if used := l.Stats().Memory.Used; used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
	}
}

// By default the first failure stops the run, after what came before it.
func TestAFailureOfAnOperationStopsTheRun(t *testing.T) {
	leak.Check(t)
	register(t)
	root := phototest.Folder(t, 12)
	r := troubled(root, trouble{Skip: -1, Fail: 7, Panic: -1, Of: 100}, flow.Batch{Size: 1})
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
	n, err := loadertest.RowsUntilError(t, l)
	var failed *pipe.StageError
	var bad *sample.Error
	if !errors.As(err, &failed) || !errors.As(err, &bad) || failed.Stage != "trouble" || bad.Index != 7 || !errors.Is(err, errFail) {
		t.Fatal(err)
	}
	permutation := order.Permute(12, 3, 0)
	if at := permutation.At(int64(n)); at != 7 {
		t.Fatalf("%d samples came before it, and the next one is %d", n, at)
	}
}

// Ranks that drop different samples would fall out of step.
func TestAnOperationMustNotDropSamplesOfRanks(t *testing.T) {
	leak.Check(t)
	register(t)
	root := phototest.Folder(t, 12)
	r := troubled(root, trouble{Skip: 7, Fail: -1, Panic: -1, Of: 100}, flow.Batch{Size: 4})
	var ends []string
	for rank := range 2 {
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Rank: rank, WorldSize: 2}, headrace.Options{})
		if !l.Info().Exact {
			t.Error("the number of batches is no count")
		}
		for {
			b, err := l.Next(t.Context())
			if err != nil {
				ends = append(ends, err.Error())
				break
			}
			b.Release()
		}
	}
	slices.Sort(ends)
	if ends[0] != "EOF" || !strings.Contains(ends[1],
		"headrace: trouble drops a sample: ranks could yield different numbers of batches") {
		t.Errorf("the ranks end with %q", ends)
	}
}

func TestResumeWithOperationsIsTheUninterruptedRun(t *testing.T) {
	leak.Check(t)
	register(t)
	root := phototest.Folder(t, 37)
	for _, fuse := range []bool{true, false} {
		r := troubled(root, trouble{Skip: 1, Fail: 3, Panic: 5, Of: 9}, flow.Batch{Size: 4})
		r.Steps = slices.Insert(r.Steps, 5, recipe.Step{Args: headrace.Args(new(invert))}, recipe.Step{Args: headrace.Args(&relabel{Times: 3})})
		config := headrace.Config{Epochs: new(2), OnError: headrace.Skip, Workers: new(3), Fuse: &fuse}
		run := func(from headrace.State, n int) (got []string, states []headrace.State, ends []headrace.EpochSummary) {
			l := loadertest.Open(t, r, config, headrace.Options{})
			if err := l.Start(from, nil); err != nil {
				t.Fatal(err)
			}
			for len(got) < n {
				b, err := l.Next(t.Context())
				if err == io.EOF {
					ends = append(ends, l.Epoch())
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				text := fmt.Sprintf("epoch %d, batch %d: ", b.Epoch(), b.Step())
				for i := range b.Rows() {
					text += loaded(b, i) + "\n"
				}
				got, states = append(got, text), append(states, l.State())
				b.Release()
			}
			if _, err := l.Next(t.Context()); err != io.EOF {
				t.Fatal(err)
			}
			return got, states, append(ends, l.Epoch())
		}
		want, states, ends := run(headrace.State{}, 14)
		for i, from := range states[:len(states)-1] {
			got, _, gotEnds := run(from, len(want)-i-1)
			if !slices.Equal(got, want[i+1:]) {
				t.Fatalf("fuse=%v: cut after batch %d at %+v, others follow:\n%.200s\nexpected\n%.200s", fuse, i, from, got[0], want[i+1])
			}
			if !slices.Equal(gotEnds, ends[len(ends)-len(gotEnds):]) {
				t.Fatalf("fuse=%v: cut after batch %d the epochs end as %+v, expected %+v", fuse, i, gotEnds, ends)
			}
		}
	}
}
