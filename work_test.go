package headrace

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// panicking panics where an operation reports its bytes.
type panicking struct{ context.Context }

func (panicking) Value(any) any { panic("here") }

// A panic is the failure of one sample: it names that, and what the sample held is
// given back, or the others would wait for it for ever.
func TestAPanicNamesItsSampleAndHoldsNothing(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(phototest.Folder(t, 1), "*", "*"))
	var w core.Env
	held := budget.New(1 << 20)
	stages, listed := parts(t, &w, held, parseRecipe(t, `{"files":{"pattern":"x"}},"decode_image",{"center_crop":{"size":8}},{"batch":{"size":1}}`), paths[0])
	it := &record.Record{Source: &listed.Source, ID: sample.ID{Index: 5}, Key: "a.jpg"}
	_, err := stages[0](panicking{t.Context()}, it)
	check := func(what string) {
		var bad *sample.Error
		var panicked *pipe.PanicError
		if !errors.As(err, &bad) || bad.Index != 5 || bad.Key != "a.jpg" || !errors.As(err, &panicked) {
			t.Errorf("%s: %v", what, err)
		}
		if n := held.Used(); n != 0 {
			t.Errorf("%s: %d bytes are still held", what, n)
		}
	}
	check("read")
	if _, err = stages[0](t.Context(), it); err != nil {
		t.Fatal(err)
	}
	end := batch.Writer{Env: &w, Fields: []batch.FieldWriter{{Column: listed.Contents.(*source.Files).Label}, {Field: 1, Column: record.Column{Kind: record.Numbers}}}}
	end.Handle("batch", core.Handling{}, nil)
	err = end.Fill(t.Context(), it, new(batch.Batch), 0) // a batch without a slot
	check("decode")
}

// Later samples are younger, whatever numbers people give to epochs.
func TestAgesFollowTheOrderOfARun(t *testing.T) {
	for _, first := range []int{0, 1<<24 - 1, 20261121, 1 << 60} {
		w := core.Env{Epoch: first}
		last := w.Age(sample.ID{Epoch: first})
		for _, id := range []sample.ID{{Epoch: first, Pos: 1}, {Epoch: first, Pos: 1<<40 - 1}, {Epoch: first + 1}, {Epoch: first + 2, Pos: 7}} {
			age := w.Age(id)
			if age <= last {
				t.Errorf("from epoch %d on: %+v is older than what came before it", first, id)
			}
			last = age
		}
	}
}

// An image that is enlarged before it is cut takes more than its file and its result
// say.
func TestPicturesOnTheWayAreReserved(t *testing.T) {
	root := phototest.Folder(t, 4)
	const steps = `{"files":{"pattern":%q,"root":"/"}},"decode_image",{"resize":{"size":1000}},
		{"resize":{"size":[8,8]}},{"batch":{"size":4}}`
	for _, fuse := range []bool{true, false} {
		l := openLoader(t, parseRecipe(t, steps, root), Config{Epochs: new(1), Fuse: &fuse, Workers: new(1)}, Options{})
		nextOf(t, l).Release()
		for _, p := range l.Stats().Memory.Purposes {
			if p.Name == string(core.ForDecoder) && p.Peak < 1000*1000*3 {
				t.Errorf("fuse=%v: at most %d bytes were reserved", fuse, p.Peak)
			}
		}
	}
}
