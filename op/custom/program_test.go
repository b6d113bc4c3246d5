package custom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/flow"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
)

func filesOf(root string) recipe.Step {
	return recipe.Step{Args: &input.Files{Pattern: recipe.Path(root), Root: "/", Label: "parent"}}
}

func cropTo(height, width int) recipe.Step {
	return recipe.Step{Args: &opimage.CenterCrop{Size: recipe.Size{Height: height, Width: width}}}
}

// An operation may decode by itself: its bytes are gone then, and its image is in
// their memory.
func TestAnOperationDecodes(t *testing.T) {
	leak.Check(t)
	register(t)
	root := phototest.Folder(t, 7)
	r := recipe.Recipe{Steps: []recipe.Step{filesOf(root), {Op: "raw"}, {Op: "random_flip"}, {Args: &flow.Batch{Size: 2}}}}
	flipped := 0
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
	for _, batch := range loadertest.Drain(t, l) {
		for _, row := range batch {
			data, err := os.ReadFile(row.Key)
			if err != nil {
				t.Fatal(err)
			}
			want := data[3:23]
			if row.Pixels != string(want) {
				flipped++
				for y := range 4 {
					slices.Reverse(want[5*y:][:5])
				}
			}
			if row.Pixels != string(want) {
				t.Errorf("%s: %x, expected %x", row.Key, row.Pixels, want)
			}
		}
	}
	if flipped == 0 || flipped == 7 {
		t.Errorf("%d of 7 were mirrored", flipped)
	}
}

// second gives the file a second time.
type second struct{}

type secondOut struct {
	More []byte `field:"more"`
}

func (*second) Do(_ context.Context, in cipherIn) (secondOut, error) {
	return secondOut{in.Bytes}, nil
}

// fit cuts what the second image has too much.
type fit struct{}

type fitIO struct {
	Image media.Pixels `field:"again"`
}

func (*fit) Result(f media.Form) (media.Form, error) {
	f.Height, f.Width = 5, 6
	return f, nil
}

func (*fit) Do(_ context.Context, in fitIO) (fitIO, error) {
	in.Image.Height, in.Image.Width = 5, 6
	return in, nil
}

var registerBoth = sync.OnceValue(func() error {
	return errors.Join(
		headrace.Register("second", "Gives twice.", func() headrace.Operation[cipherIn, secondOut] { return new(second) }),
		headrace.Register("fit", "Cuts.", func() headrace.Operation[fitIO, fitIO] { return new(fit) }),
	)
})

func registerSecond(t *testing.T) {
	t.Helper()
	if err := registerBoth(); err != nil {
		t.Fatal(err)
	}
}

// Images may be decoded one after the other; bytes are waited for before each, and
// the oldest sample can always go on.
func TestTwoPicturesOfASample(t *testing.T) {
	leak.Check(t)
	register(t)
	registerSecond(t)
	root := phototest.Folder(t, 30)
	r := recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		filesOf(root), {Op: "second"}, {Op: "decode_image"}, cropTo(8, 9),
		{Args: &opimage.DecodeImage{Field: "more", To: "again"}}, {Op: "fit"}, {Args: &flow.Batch{Size: 4}},
	}}
	var want []string
	for _, fuse := range []bool{true, false} {
		for _, order := range []headrace.Order{headrace.InputOrder, headrace.CompletionOrder} {
			for _, memory := range []int64{20_000, 1 << 30} {
				l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Fuse: &fuse, Order: order, Memory: &memory, Workers: new(3)}, headrace.Options{})
				var got []string
				for b := range loadertest.Epoch(t, l) {
					image, _ := b.Tensor("image")
					again, _ := b.Tensor("again")
					for i, key := range b.Text("key") {
						got = append(got, fmt.Sprintf("%s %x %x", key, image.Row(i).Data, again.Row(i).Data))
					}
				}
				if slices.Sort(got); want == nil {
					want = got
				}
				if len(got) != 30 || !slices.Equal(got, want) {
					t.Fatalf("fuse=%v, %s, %d bytes: others came", fuse, order, memory)
				}
				if fuse && order == headrace.InputOrder {
					names := ""
					for _, s := range l.Info().Stages {
						names += s.Name + "; "
					}
					if names != "files; read; second; decode_image+center_crop; probe decode_image_2; decode_image_2; fit; batch; " {
						t.Errorf("the stages are %s", names)
					}
				}
			}
		}
	}
}

// Bytes that are given out twice are in two places: what is done to the one is not done
// to the other.
func TestBytesOfTheirOwn(t *testing.T) {
	leak.Check(t)
	register(t)
	registerSecond(t)
	r := recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		filesOf(phototest.Folder(t, 3)), {Op: "second"}, {Op: "cipher"}, {Op: "raw"},
		{Args: &opimage.DecodeImage{Field: "more", To: "again"}}, {Op: "fit"}, {Args: &flow.Batch{Size: 3}},
	}}
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
	for _, row := range loadertest.Drain(t, l)[0] {
		data, err := os.ReadFile(row.Key)
		if err != nil {
			t.Fatal(err)
		}
		for i := range row.Pixels {
			if row.Pixels[i] != data[3+i]^85 {
				t.Errorf("%s: byte %d is %x, of the file it is %x", row.Key, i, row.Pixels[i], data[3+i])
			}
		}
	}
}

// grow makes images larger.
type grow struct{}

func (*grow) Result(f media.Form) (media.Form, error) {
	for _, n := range []*int{&f.Height, &f.Width} {
		if *n != media.Unknown {
			*n *= 5
		}
	}
	return f, nil
}

func (o *grow) Do(_ context.Context, in thinIn) (imageOut, error) {
	form, _ := o.Result(in.Image.Form())
	out := in.Canvas.Pixels(form)
	clear(out.Data)
	it := in.Canvas.Item
	if held, reserved := it.Values.Held(), it.Content.Bytes()+it.Working.Bytes(); held > reserved {
		return imageOut{}, fmt.Errorf("%d bytes are held, %d reserved", held, reserved)
	}
	return imageOut{out}, nil
}

// parts takes a recipe apart as a loader does, and returns what becomes of a file one
// after the other: reserving, working, reserving, …; and the source that files are of.
func parts(t *testing.T, w *core.Env, held *budget.Budget, r recipe.Recipe, path string) (ops []core.Guarded, listed *source.Listing) {
	t.Helper()
	r = r.Complete()
	p, err := fuse.Fuse(r)
	if err != nil {
		t.Fatal(err)
	}
	table, err := store.Files("", slices.Values(slices.Repeat([]string{path}, 10)))
	if err != nil {
		t.Fatal(err)
	}
	listed = &source.Listing{Source: record.Source{Draws: 1, Lane: held.Lane(), Key: func(int64) string { return path }, Samples: 10}, Contents: &input.FileSet{Table: table, Labels: make([]int64, 10)}, Split: order.Split{Samples: 1, Batch: 1, World: 1}}
	ops, err = compile.StageOperations(p, compile.Target{Env: w, Sections: []compile.Section{{Layout: new(batch.Layout)}}, Sources: []*source.Listing{listed}})
	if err != nil {
		t.Fatal(err)
	}
	return ops, listed
}

// What a sample has in memory was reserved before, but for what nobody could foresee:
// that is reserved when it is there.
func TestWhatOperationsStoreIsReserved(t *testing.T) {
	register(t)
	if err := headrace.Register("grow", "Enlarges.", func() headrace.Operation[thinIn, imageOut] { return new(grow) }); err != nil {
		t.Fatal(err)
	}
	path, _ := filepath.Glob(filepath.Join(phototest.Folder(t, 1), "*", "*"))
	chain := func(steps ...recipe.Step) recipe.Recipe {
		return recipe.Recipe{Steps: append(append([]recipe.Step{filesOf("x")}, steps...), recipe.Step{Args: &flow.Batch{Size: 1}})}
	}
	large := recipe.Step{Args: &opimage.Resize{Size: recipe.Size{Height: 700, Width: 900}}}
	normalize := recipe.Step{Args: &opimage.Normalize{Mean: opimage.Channels{0}, Std: opimage.Channels{1}}}
	own := recipe.Step{Args: headrace.Args(&cipher{Alloc: true})}
	for name, r := range map[string]recipe.Recipe{
		"in place":         chain(recipe.Step{Op: "decode_image"}, large, recipe.Step{Op: "negate"}, cropTo(9, 9)),
		"smaller":          chain(recipe.Step{Op: "decode_image"}, large, recipe.Step{Op: "thin"}, recipe.Step{Op: "thin"}, recipe.Step{Args: headrace.Args(&thin{Own: true})}),
		"larger":           chain(recipe.Step{Op: "decode_image"}, recipe.Step{Op: "grow"}, recipe.Step{Op: "grow"}, cropTo(9, 9)),
		"a part":           chain(recipe.Step{Op: "decode_image"}, large, recipe.Step{Op: "trim"}, recipe.Step{Op: "random_flip"}, recipe.Step{Op: "negate"}, cropTo(9, 9)),
		"enlarged at last": chain(recipe.Step{Op: "decode_image"}, recipe.Step{Op: "negate"}, large, recipe.Step{Op: "relabel"}),
		"floating point":   chain(recipe.Step{Op: "decode_image"}, large, normalize, recipe.Step{Op: "relabel"}),
		"twice":            chain(recipe.Step{Op: "decode_image"}, large, recipe.Step{Op: "mean"}, recipe.Step{Op: "negate"}),
		"other bytes":      chain(own, own, own, recipe.Step{Op: "decode_image"}, large, recipe.Step{Op: "relabel"}),
		"no decoder":       chain(recipe.Step{Op: "raw"}, large, recipe.Step{Op: "negate"}),
	} {
		w, b := new(core.Env), budget.New(1<<30)
		ops, source := parts(t, w, b, r, path[0])
		it := &record.Record{Source: &source.Source, Key: "a"}
		for i, op := range ops {
			if i > 0 { // what was promised to the stage before counts for this one
				if held, reserved := it.Values.Held(), it.Content.Bytes()+it.Working.Bytes(); held > reserved {
					t.Errorf("%s: before stage %d %d bytes are held, %d reserved", name, i, held, reserved)
				}
			}
			before := it.Working.Bytes()
			if _, err := op(t.Context(), it); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if after := it.Working.Bytes(); i > 0 && after > before && name != "other bytes" && name != "no decoder" {
				t.Errorf("%s: stage %d took %d bytes that were not reserved", name, i, after-before)
			}
		}
		if w.Drop(it); b.Used() != 0 {
			t.Errorf("%s: %d bytes are still held", name, b.Used())
		}
	}
}

// eat takes a file, and gives a number.
type eat struct{}

type eatOut struct {
	Size uint32 `field:"size"`
}

func (*eat) Do(_ context.Context, in rawIn) (eatOut, error) {
	return eatOut{uint32(len(in.Bytes))}, nil
}

func TestFieldsThatAreTakenAreLetGoOf(t *testing.T) {
	leak.Check(t)
	if err := headrace.Register("eat", "Takes.", func() headrace.Operation[rawIn, eatOut] { return new(eat) }); err != nil {
		t.Fatal(err)
	}
	root := phototest.Folder(t, 5)
	path, _ := filepath.Glob(filepath.Join(root, "*", "*"))
	r := recipe.Recipe{Steps: []recipe.Step{filesOf(root), {Op: "eat"}, {Args: &flow.Batch{Size: 5}}}}
	w, held := new(core.Env), budget.New(1<<30)
	ops, source := parts(t, w, held, r, path[0])
	it := &record.Record{Source: &source.Source, Key: "a"}
	for _, op := range ops {
		if _, err := op(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	if n := it.Values.Held(); n != 0 || len(it.Values.Borrowed) != 0 || held.Used() != 0 {
		t.Errorf("%d bytes are held, %d are reserved", n, held.Used())
	}
	w.Drop(it)

	// A batch of numbers and text is one, too.
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
	b := loadertest.Next(t, l)
	defer b.Release()
	sizes, _ := b.Tensor("size")
	for i, key := range b.Text("key") {
		info, err := os.Stat(key)
		if err != nil || int64(binary.NativeEndian.Uint32(sizes.Row(i).Data)) != info.Size() {
			t.Errorf("%s has %d bytes, %v, not %v", key, info.Size(), err, sizes.Row(i).Data)
		}
	}
}

// dawdle lets others overtake its first sample, if they can.
type dawdle struct{ passed atomic.Int64 }

func (o *dawdle) Do(ctx context.Context, in troubleIn) (struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	for o.passed.Add(1); in.ID.Index == 0 && o.passed.Load() < 40 && ctx.Err() == nil; {
		runtime.Gosched()
	}
	return struct{}{}, nil
}

// Anyone who waits for bytes must not keep an older sample from asking for its own.
func TestTheOldestSampleIsNotOvertakenWhereBytesAreWaitedFor(t *testing.T) {
	leak.Check(t)
	register(t)
	if err := headrace.Register("dawdle", "Waits.", func() headrace.Operation[troubleIn, struct{}] { return new(dawdle) }); err != nil {
		t.Fatal(err)
	}
	r := recipe.Recipe{Steps: []recipe.Step{
		filesOf(phototest.Folder(t, 60)), {Args: headrace.Args(&cipher{Key: 0})}, {Op: "dawdle"}, {Op: "decode_image"}, cropTo(8, 9), {Args: &flow.Batch{Size: 1}},
	}}
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Order: headrace.CompletionOrder, Memory: new(int64(100_000)), Workers: new(4)}, headrace.Options{})
	if n := len(loadertest.Drain(t, l)); n != 60 {
		t.Errorf("%d rows", n)
	}
}

// everything uses everything there is, and allocates nothing.
type everything struct{}

type everythingIn struct {
	Image  media.Pixels `field:"image"`
	Key    string       `field:"key"`
	Label  int64        `field:"label"`
	Canvas headrace.Canvas
	Rand   headrace.Rand
	ID     sample.ID
}

type everythingOut struct {
	Image media.Pixels  `field:"image"`
	Name  string        `field:"name"`
	Place [4][2]float32 `field:"place"`
	Label int64         `field:"label"`
}

func (*everything) Do(_ context.Context, in everythingIn) (everythingOut, error) {
	out := everythingOut{Image: in.Canvas.Pixels(in.Image.Form()), Name: in.Key[1:], Label: in.Label + in.ID.Index + int64(in.Rand.IntN(5))}
	copy(out.Image.Data, in.Image.Data)
	out.Place[3][1] = float32(in.Rand.Float64())
	return out, nil
}

func TestAnOperationCostsNoAllocation(t *testing.T) {
	if err := headrace.Register("everything", "Does.", func() headrace.Operation[everythingIn, everythingOut] { return new(everything) }); err != nil {
		t.Fatal(err)
	}
	path, _ := filepath.Glob(filepath.Join(phototest.Folder(t, 1), "*", "*"))
	w := new(core.Env)
	ops, source := parts(t, w, budget.New(1<<30), recipe.Recipe{Steps: []recipe.Step{filesOf("x"), {Op: "decode_image"}, {Op: "everything"}, cropTo(9, 9), {Args: &flow.Batch{Size: 1}}}}, path[0])
	it := &record.Record{Source: &source.Source, Key: "a"}
	for _, op := range ops {
		if _, err := op(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	least := 1.0 // a pool may lose what it holds, but not always
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, func() {
			if _, err := ops[len(ops)-1](ctx, it); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if least > 0 {
		t.Errorf("%v allocations for each sample", least)
	}
}

// crash is an operation that takes the whole program with it.
type crash struct {
	At int `json:"at" doc:"the sample's number"`
}

func (o *crash) Do(_ context.Context, in troubleIn) (struct{}, error) {
	if int(in.ID.Index) == o.At {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return struct{}{}, nil
}

// noted writes what is in flight to a file, for anyone who looks after a crash.
type noted struct {
	mu    sync.Mutex
	file  *os.File
	cells map[int]int64
}

func (n *noted) Begin(cell int, id sample.ID, _ string) { n.note(cell, id.Index) }
func (n *noted) End(cell int)                           { n.note(cell, -1) }

func (n *noted) note(cell int, index int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cells[cell] = index
	var flying []int64
	for _, i := range n.cells {
		if i >= 0 {
			flying = append(flying, i)
		}
	}
	text, _ := json.Marshal(flying)
	n.file.WriteAt(append(text, bytes.Repeat([]byte(" "), 100)...), 0)
}

// TestACrashHasASuspect runs itself in processes of their own, which crash: one
// operation at a time finds the sample, and in quarantine it is let be.
func TestACrashHasASuspect(t *testing.T) {
	if err := headrace.Register("crash", "Crashes.", func() headrace.Operation[troubleIn, struct{}] { return new(crash) }); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("HEADRACE_TEST_CRASH") != "" {
		crashing(t)
		return
	}
	root, notes := phototest.Folder(t, 12), filepath.Join(t.TempDir(), "notes")
	var from headrace.State
	run := func() (string, error) {
		state, _ := json.Marshal(from)
		cmd := exec.Command(os.Args[0], "-test.run=^TestACrashHasASuspect$", "-test.v")
		cmd.Env = append(os.Environ(), "HEADRACE_TEST_CRASH="+root, "HEADRACE_TEST_NOTES="+notes, "HEADRACE_TEST_STATE="+string(state))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err == nil {
		t.Fatalf("it did not crash:\n%s", out)
	}
	text, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &from.Quarantine); err != nil || !slices.Equal(from.Quarantine, []int64{7}) {
		t.Fatalf("in flight were %s, %v", text, err)
	}
	out, err := run()
	if err != nil || !strings.Contains(out, "11 rows, lost [7] ") || !strings.Contains(out, "quarantined") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// crashing is what the processes do.
func crashing(t *testing.T) {
	var from headrace.State
	if err := json.Unmarshal([]byte(os.Getenv("HEADRACE_TEST_STATE")), &from); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(os.Getenv("HEADRACE_TEST_NOTES"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	n := &noted{file: file, cells: map[int]int64{}}
	var lost []int64
	var why []error
	r := recipe.Recipe{Steps: []recipe.Step{filesOf(os.Getenv("HEADRACE_TEST_CRASH")), {Args: headrace.Args(&crash{At: 7})}, {Op: "decode_image"}, cropTo(8, 8), {Args: &flow.Batch{Size: 4}}}}
	l, err := headrace.Open(t.Context(), r, headrace.Config{Epochs: new(1), OnError: headrace.Skip, Workers: new(4)}, headrace.Options{
		InFlight: func() headrace.InFlight { return n },
		Lost:     func(l headrace.Lost) { lost, why = append(lost, l.ID.Index), append(why, l.Err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Start(from, &headrace.Until{Epoch: 1, Positions: map[string]int64{"files": 0}}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, b := range loadertest.Drain(t, l) {
		rows += len(b)
	}
	t.Logf("%d rows, lost %v %v", rows, lost, why)
}

// An operation that makes labels makes them others than those whose names are known.
func TestClassesAreThoseOfTheSourcesLabels(t *testing.T) {
	register(t)
	root := phototest.Folder(t, 2)
	for op, classes := range map[string]int{"relabel": 0, "negate": 2} {
		r := recipe.Recipe{Steps: []recipe.Step{filesOf(root), {Op: "decode_image"}, {Op: op}, cropTo(8, 8), {Args: &flow.Batch{Size: 1}}}}
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
		if n := len(l.Info().Classes); n != classes {
			t.Errorf("with %s there are %d classes", op, n)
		}
	}
}

// What an operation is given ends with the run.
type patient struct{}

func (*patient) Do(ctx context.Context, _ nothing) (nothing, error) {
	<-ctx.Done()
	return nothing{}, context.Cause(ctx)
}

func TestAnOperationIsToldThatTheRunIsOver(t *testing.T) {
	leak.Check(t)
	if err := headrace.Register("patient", "Waits.", func() headrace.Operation[nothing, nothing] { return new(patient) }); err != nil {
		t.Fatal(err)
	}
	r := recipe.Recipe{Steps: []recipe.Step{filesOf(phototest.Folder(t, 5)), {Op: "decode_image"}, {Op: "patient"}, cropTo(8, 8), {Args: &flow.Batch{Size: 1}}}}
	l := loadertest.Open(t, r, headrace.Config{}, headrace.Options{})
	l.Stop()
	if _, err := l.Next(t.Context()); err != pipe.ErrDone {
		t.Error(err)
	}
	l.Close()
	if used := l.Stats().Memory.Used; used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}
