//go:build !headrace_debug

package compile_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/record"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// squares is a toy source: sample i is the text of i². It needs nothing but exported
// contracts.
type squares struct {
	name       string
	n          int64
	bytes, key record.Column
}

func (s *squares) Len() int64           { return s.n }
func (*squares) Key(index int64) string { return fmt.Sprintf("%d²", index) }

func (s *squares) Link(_ *core.Env, _ *fuse.Source, _ sample.Schema, where *record.Columns) (*python.Function, error) {
	s.bytes, s.key = where.Of["bytes"], where.Of["key"]
	return nil, nil
}

func (s *squares) Fetch(_ context.Context, env *core.Env, r *record.Record) (int64, error) {
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

func init() {
	if err := custom.Register("parse", "Makes a number of text.", func() custom.Operation[parseIn, parseOut] { return new(parse) }); err != nil {
		panic(err)
	}
}

// A new kind of source and a new operation are what this file has, and touch no other.
func TestASourceAndAnOperationOfOnesOwn(t *testing.T) {
	leak.Check(t)
	r := recipe.Recipe{Steps: recipe.Chain{
		{Args: &input.Files{Paths: []recipe.Path{"not read"}}},
		{Op: "parse"},
		{Args: &flow.Batch{Size: 4}},
	}}.Complete()
	own := &squares{name: "files", n: 10}
	_, run := start(t, r, pipe.Config{Epochs: 1}, own)

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
