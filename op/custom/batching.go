package custom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Batching is what headrace.Batching says.
type Batching[In any] interface {
	Size() (rows, classes int)
	Class(ctx context.Context, in In) (int, error)
}

// Classifier is implemented by arguments of steps that make batches and bring their code
// along.
type Classifier interface {
	recipe.Batcher
	// Size is how many rows a full batch has, and how many classes there are.
	Size() (rows, classes int)
	// Classify returns what tells the class of a sample. Where says at which places its
	// values are.
	Classify(w *core.Env, name string, in sample.Schema, where *record.Columns) (func(context.Context, *record.Record) (int, error), error)
}

// RegisterBatching adds an operation that makes batches to those that recipes can name.
func RegisterBatching[In any](name, doc string, new func() Batching[In]) error {
	sig, err := looksAt[In]()
	if err == nil {
		err = sig.onlyLooks()
	}
	if err != nil {
		return fmt.Errorf("headrace: batching %q: %w", name, err)
	}
	if new == nil {
		return fmt.Errorf("headrace: batching %q: its function is nil", name)
	}
	if err := checkArguments(new()); err != nil {
		return fmt.Errorf("headrace: batching %q: %w", name, err)
	}
	return recipe.Register(recipe.Op{Name: name, Doc: doc, Place: recipe.Batching,
		New: func() recipe.Args { return &heldBatching[In]{new()} }})
}

// looksAt returns the fields of samples that a batching is given.
func looksAt[In any]() (signature, error) {
	return signatureOf(reflect.TypeFor[In](), reflect.TypeFor[struct{}]())
}

// onlyLooks refuses an In that would change samples.
func (s signature) onlyLooks() error {
	for _, m := range s.in {
		if m.take || m.own == canvasType {
			return fmt.Errorf("a field of In is %s: what makes batches only looks at samples", m.described())
		}
	}
	return nil
}

// heldBatching is a Batching as the arguments of a step.
type heldBatching[In any] struct{ by Batching[In] }

// Held implements recipe.Holder.
func (h *heldBatching[In]) Held() any { return h.by }

// MarshalJSON writes the arguments.
func (h *heldBatching[In]) MarshalJSON() ([]byte, error) { return json.Marshal(h.by) }

// DropsLast implements recipe.Batcher.
func (h *heldBatching[In]) DropsLast() bool {
	d, ok := h.by.(interface{ DropLast() bool })
	return ok && d.DropLast()
}

// Check implements recipe.Args.
func (h *heldBatching[In]) Check(in sample.Schema) (sample.Schema, error) {
	sig, err := looksAt[In]()
	if err != nil {
		return in, err
	}
	_, wrong := sig.check(in, h.by)
	if wrong == nil {
		wrong = checkSize(h.by.Size())
	}
	rows, unstacked := recipe.StackOf(recipe.Batches{Size: 1}).Check(in)
	return rows, errors.Join(wrong, checkWritten(h.by), unstacked)
}

// mostClasses bounds the batches that are open at once, each of which holds samples.
const mostClasses = 1 << 16

func checkSize(rows, classes int) error {
	if rows < 1 || rows > recipe.MostRows || classes < 1 || classes > mostClasses {
		return fmt.Errorf("has batches of %d rows, and %d classes: must have rows from 1 to %d, classes from 1 to %d",
			rows, classes, recipe.MostRows, mostClasses)
	}
	return nil
}

// Size implements Classifier.
func (h *heldBatching[In]) Size() (rows, classes int) { return h.by.Size() }

// Classify implements Classifier.
func (h *heldBatching[In]) Classify(w *core.Env, name string, in sample.Schema,
	where *record.Columns) (func(context.Context, *record.Record) (int, error), error) {
	sig, err := looksAt[In]()
	if err != nil {
		return nil, err
	}
	reads := newPorts(w, name, sig, in, where)
	_, classes := h.by.Size()
	calls := sync.Pool{New: func() any { return new(In) }}

	return func(ctx context.Context, it *record.Record) (int, error) {
		seen := calls.Get().(*In)
		defer func() {
			*seen = *new(In)
			calls.Put(seen)
		}()
		reads.load(unsafe.Pointer(seen), it)
		class, err := h.by.Class(ctx, *seen)
		if err == nil && (class < 0 || class >= classes) {
			err = fmt.Errorf("headrace: %s gives class %d: there are %d, from 0", name, class, classes)
		}
		return class, reads.judge(err)
	}, nil
}
