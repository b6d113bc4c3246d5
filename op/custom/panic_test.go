package custom_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/input"
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
	stages, listed := parts(t, &w, held, loadertest.Recipe(t, `{"files":{"pattern":"x"}},"decode_image",{"center_crop":{"size":8}},{"batch":{"size":1}}`), paths[0])
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
	end := batch.Writer{Env: &w, Fields: []batch.FieldWriter{{Column: listed.Contents.(*input.FileSet).LabelAt}, {Field: 1, Column: record.Column{Kind: record.Numbers}}}}
	end.Handle("batch", core.Handling{}, nil)
	err = end.Fill(t.Context(), it, new(batch.Batch), 0) // a batch without a slot
	check("decode")
}
