//go:build !headrace_debug

package compile_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/ops"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// squares is a toy source: sample i is the text of i². It needs nothing but exported
// contracts.
type squares struct{ bytes, key record.Column }

func (*squares) Len() int64             { return 10 }
func (*squares) Key(index int64) string { return fmt.Sprintf("%d²", index) }

func (s *squares) Link(_ *ops.Env, _ *fuse.Source, _ sample.Schema, where *record.Columns) (*ops.Function, error) {
	s.bytes, s.key = where.Of["bytes"], where.Of["key"]
	return nil, nil
}

func (s *squares) Fetch(_ context.Context, env *ops.Env, r *record.Record) (int64, error) {
	text := strconv.FormatInt(r.ID.Index*r.ID.Index, 10)
	v := env.Blank(r)
	v.Bytes[s.bytes.At] = []byte(text)
	v.Texts[s.key.At] = r.Key
	return int64(len(text)), nil
}

// parse is a toy operation: it makes a number of the text.
type (
	parse   struct{}
	parseIn struct {
		Text []byte `field:"bytes,take"`
	}
	parseOut struct {
		Number int64 `field:"number"`
	}
)

func (*parse) Do(_ context.Context, in parseIn) (out parseOut, err error) {
	out.Number, err = strconv.ParseInt(string(in.Text), 10, 64)
	return out, err
}

// A new kind of source and a new operation are what this file has, and touch no other.
func TestASourceAndAnOperationOfOnesOwn(t *testing.T) {
	leak.Check(t)
	if err := ops.Register("parse", "Makes a number of text.", func() ops.Operation[parseIn, parseOut] { return new(parse) }); err != nil {
		t.Fatal(err)
	}
	r := recipe.Recipe{Steps: recipe.Chain{
		{Args: &recipe.Files{Paths: []recipe.Path{"not read"}}},
		{Op: "parse"},
		{Args: &recipe.Batch{Size: 4}},
	}}.Complete()
	schema, err := r.Check()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fuse.Fuse(r)
	if err != nil {
		t.Fatal(err)
	}

	own := new(squares)
	bytes := budget.New(1 << 20)
	split := order.Split{Samples: own.Len(), Batch: 4, World: 1}
	listing := &source.Listing{
		Source:   record.Source{Name: "squares", Lane: bytes.Lane(), Key: own.Key, Samples: own.Len()},
		Contents: own, Split: split,
	}
	layout, err := batch.NewLayout(schema, batch.Size{Rows: 4})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := arena.New(arena.Options{Slots: 4, SlotBytes: layout.Bytes})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()

	gate := pipe.NewGate(2)
	env := &ops.Env{Gate: gate}
	program, err := compile.Compile(plan, compile.Target{
		Env: env, Sources: []*source.Listing{listing}, Sections: []compile.Section{{Layout: &layout, Slots: &batch.Slots{Layout: &layout, Arena: memory}, Rows: 4}},
		Lane: bytes.Lane(), Policies: ops.Policies{OnError: ops.Raise, Sources: 1}, Gate: gate,
		Workers: 2, Readers: 2, Prefetch: 1, InOrder: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	env.Begin(0, nil, nil)
	listing.Begin(0, nil, nil)
	run, err := pipe.Start(t.Context(), program.Flow, pipe.Config{Epochs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()

	next := int64(0)
	for {
		b, err := run.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Take(); err != nil {
			t.Fatal(err)
		}
		numbers, _ := b.Tensor("number")
		for row, key := range b.Text("key") {
			got := int64(binary.NativeEndian.Uint64(numbers.Data[8*row:]))
			if got != next*next || key != own.Key(next) {
				t.Errorf("sample %d: %s is %d", next, key, got)
			}
			next++
		}
		b.Release()
	}
	if next != own.Len() {
		t.Errorf("%d samples, want %d", next, own.Len())
	}
}
