package pack

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/internal/byref"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

// results handles a RESULTS message: it completes calls, or passes a stream's samples on.
func (k *Pack) results(payload []byte) (last bool, err error) {
	r, err := message.ParseResults(payload, k.of.Gives, len(k.of.Chain))
	if err != nil {
		return false, err
	}
	k.of.Chain.Count(r)

	if k.single && !k.many {
		if r.Returned {
			return false, fmt.Errorf("%w: RESULTS return samples of a single call", wire.ErrProtocol)
		}
		return r.Last, k.stream(r)
	}
	if err := k.inOrder(r); err != nil {
		return false, err
	}
	if k.many {
		return r.Last, k.run(r)
	}

	errs := k.errs[:0]
	for i := range r.N {
		j := k.tasks[r.First+i]
		err := k.result(r, i, r.First+i, j.Call)
		if errors.Is(err, wire.ErrProtocol) {
			k.Done(r.First, errs...)
			return false, err
		}
		j.Call.Took = r.Took(i)
		k.reported.Add(1)
		k.Worked.Store(true)
		errs = append(errs, err)
	}

	// From here on these samples are not the pack's any more.
	if r.Last {
		k.Release()
	}
	k.Done(r.First, errs...)
	clear(errs)
	k.errs = errs

	if r.Returned {
		if err := k.giveUp(r); err != nil {
			return false, err
		}
		k.tasks = k.tasks[:k.asked]
		k.Back(k.asked)
	}
	return r.Last, nil
}

// inOrder checks that results follow those before them.
func (k *Pack) inOrder(r *message.Results) error {
	follows := r.First == int(k.reported.Load()) && r.N <= k.asked-r.First
	if !follows || r.Last != (r.First+r.N == k.asked) {
		return fmt.Errorf("%w: RESULTS of samples %d to %d of %d", wire.ErrProtocol, r.First, r.First+r.N, k.asked)
	}
	return nil
}

// giveUp learns of the samples that the worker has not begun, after those in work.
func (k *Pack) giveUp(r *message.Results) error {
	rest := r.First + r.N + r.InWork
	if rest >= k.asked {
		return fmt.Errorf("%w: RESULTS return samples from %d on of %d", wire.ErrProtocol, rest, k.asked)
	}
	k.asked = rest
	return nil
}

// result stores the results of one call.
func (k *Pack) result(r *message.Results, i, item int, c *Call) error {
	switch r.Status(i) {
	case message.ItemFailed:
		return k.failure(r, item)
	case message.ItemDropped:
		if kind := k.of.Kind; kind != Filter && kind != Chain {
			return fmt.Errorf("%w: a sample was dropped, but not by a filter", wire.ErrProtocol)
		}
		c.Keep, c.Out, c.Same = false, c.Out[:0], c.Same[:0]
		return nil
	}

	c.Keep = true
	c.Out, c.Same = c.Out[:0], c.Same[:0]
	c.Names, c.Unnamed, c.Tuple, c.Found = r.Names, r.Unnamed, r.Tuple, r.Found
	k.filled = 0
	var out int64

	for f := range r.Schema {
		v, same, err := k.output(r, f, i, item, c)
		if err != nil {
			k.giveBack(c)
			return err
		}
		c.Out, c.Same = append(c.Out, v), append(c.Same, same)
		if v.Kind == sample.Tensor {
			k.filled = (k.filled + int64(len(v.Data)) + WholeAlign - 1) &^ (WholeAlign - 1)
		}
		out += int64(len(v.Data) + len(v.Text))
	}

	k.of.BytesOut.Add(out)
	return nil
}

// failure returns why a sample has failed.
func (k *Pack) failure(r *message.Results, item int) error {
	e := r.Failure(item)
	if e == nil {
		return fmt.Errorf("%w: a sample has failed without a reason", wire.ErrProtocol)
	}
	if e.Overdue {
		return &LimitError{Stage: k.of.Stage, PID: k.PID, Limit: k.of.Limit, Cancelled: true, Stack: e.Traceback}
	}
	return e
}

// giveBack gives back the results of a call that turned out to be invalid.
func (k *Pack) giveBack(c *Call) {
	for i, v := range c.Out {
		if c.Same[i] < 0 && (i >= len(c.Room) || c.Room[i] == nil) && !within(c.Whole, v.Data) {
			k.of.Heap.Give(v.Data)
		}
	}
	c.Out, c.Same = c.Out[:0], c.Same[:0]
}

// output returns one value of a call's results; same is the number of the input that it
// is, or -1.
func (k *Pack) output(r *message.Results, f, i, item int, c *Call) (v Value, same int, err error) {
	where, at, shape, bytes := r.Value(f, i)
	if where == message.IsSame {
		return k.sameAsInput(r, f, at, c)
	}

	field := r.Schema[f]
	v = Value{Kind: field.Type.Kind, DType: field.Type.DType, Shape: shape}
	switch where {
	case message.InRoom:
		v, err = k.fromRoom(v, field, f, item, bytes, c)
	case message.InWhole:
		v, err = k.fromWhole(v, field, at, bytes)
	default:
		k.of.noteSize(f, bytes)
		v, err = k.fromMessage(v, field, r.Data[at:][:bytes], c.room(f))
	}
	if k.of.LetGo != nil && v.Kind == sample.Object && err == nil {
		k.keep(v, len(field.Type.Shape))
	}
	return v, -1, err
}

// keep has the program keep the objects that a result has numbers of, for as long as
// there is a copy of it.
func (k *Pack) keep(v Value, axes int) {
	letGo := k.of.LetGo
	for _, number := range byref.Numbers(v.Data, axes) {
		k.of.Heap.Keep(v.Data, byref.List{byref.New(func() { letGo(number) })})
	}
}

// room returns the memory that the caller wants a result in, or nil.
func (c *Call) room(f int) []byte {
	if f < len(c.Room) {
		return c.Room[f]
	}
	return nil
}

// sameAsInput returns a result that is one of the call's inputs.
//
// Ownership: the memory stays the input's, and Call.Same says so, unless the caller
// wants the result in memory of its own: then it is copied there.
func (k *Pack) sameAsInput(r *message.Results, f int, at int64, c *Call) (v Value, same int, err error) {
	field := r.Schema[f]
	missing := at < 0 || at >= int64(len(c.In)) // flush() has no inputs
	if missing || k.of.Kind == Collate {        // a batch is none of its samples' values
		return Value{}, -1, fmt.Errorf("%w: a result is input %d of %d", wire.ErrProtocol, at, len(c.In))
	}
	v = c.In[at]
	if !hasType(&v, field.Type) {
		return Value{}, -1, fmt.Errorf("%w: field %q is an input of another type", wire.ErrProtocol, field.Name)
	}
	if v.Kind == sample.Text {
		return v, -1, nil // strings can be shared
	}
	for _, other := range c.Same {
		if other == int(at) { // both results would be changed through one
			return Value{}, -1, fmt.Errorf("%w: two results are input %d", wire.ErrProtocol, at)
		}
	}

	if given := c.room(f); given != nil {
		v.Data, err = copyInto(given, v.Data, field)
		return v, -1, err
	}
	return v, int(at), nil
}

// hasType reports whether a value is of a type.
func hasType(v *Value, t sample.Type) bool {
	if v.Kind != t.Kind || v.DType != t.DType || len(v.Shape) != len(t.Shape) {
		return false
	}
	return t.Kind != sample.Tensor || message.Fits(v.Shape, t.Shape)
}

// fromRoom returns a result that the worker wrote into memory that it was offered, or
// that it asked for.
//
// Ownership: the caller's own memory stays the caller's; a piece of the heap becomes the
// caller's, unless the result is text or belongs in memory of the caller: then it is
// copied and the piece is given back.
func (k *Pack) fromRoom(v Value, field sample.Field, f, item int, bytes int64, c *Call) (Value, error) {
	memory := k.taken(item, f, bytes)
	if memory == nil {
		return Value{}, fmt.Errorf("%w: field %q was written where there is no room for it", wire.ErrProtocol, field.Name)
	}
	k.of.noteSize(f, bytes)
	v.Data = memory[:bytes]

	// The worker was not offered the caller's memory if that is small, or is in a place
	// that workers cannot write to.
	given := c.room(f)
	if given != nil && unsafe.SliceData(memory) != unsafe.SliceData(given) {
		defer k.of.Heap.Give(memory)
		var err error
		v.Data, err = copyInto(given, v.Data, field)
		return v, err
	}

	if v.Kind == sample.Text {
		v.Text = string(v.Data)
		k.of.Heap.Give(memory)
		v.Data = nil
	}
	return v, nil
}

// fromWhole returns an array that the worker wrote into the memory for all arrays of a
// batch, each after the one before.
//
// Ownership: the memory stays the caller's.
func (k *Pack) fromWhole(v Value, field sample.Field, at, bytes int64) (Value, error) {
	inside := at <= int64(len(k.whole)) && bytes <= int64(len(k.whole))-at
	next := v.Kind == sample.Tensor && at == k.filled
	if k.whole == nil || !inside || !next {
		return Value{}, fmt.Errorf("%w: field %q was written where it does not belong", wire.ErrProtocol, field.Name)
	}
	v.Data = k.whole[at:][:bytes:bytes]
	return v, nil
}

// fromMessage returns a result that came with the message, whose buffer is reused.
//
// Ownership: data is copied: text to a string, other values to the caller's memory if it
// gave some, or else to a piece of the heap, which becomes the caller's.
func (k *Pack) fromMessage(v Value, field sample.Field, data, given []byte) (_ Value, err error) {
	switch {
	case v.Kind == sample.Text:
		v.Text = string(data)
	case given != nil:
		v.Data, err = copyInto(given, data, field)
	default:
		v.Data = k.of.Heap.Take(len(data))
		copy(v.Data, data)
	}
	return v, err
}

// copyInto copies a result into the caller's memory.
func copyInto(given, data []byte, field sample.Field) ([]byte, error) {
	if len(data) > len(given) {
		return nil, tooLarge(field, len(data), len(given))
	}
	return given[:copy(given, data)], nil
}

// taken returns the memory that the worker had for a result of that size, and removes it
// from the pack. If there is none or too little, it returns nil and removes nothing.
func (k *Pack) taken(item, f int, bytes int64) []byte {
	for i, g := range k.grants {
		if g.item == item && g.field == f && bytes <= int64(len(g.memory)) {
			k.grants[i] = k.grants[len(k.grants)-1]
			k.grants = k.grants[:len(k.grants)-1]
			return g.memory
		}
	}
	at := item*len(k.of.Gives) + f
	if at >= len(k.rooms) || k.rooms[at].memory == nil || bytes > int64(len(k.rooms[at].memory)) {
		return nil
	}
	memory := k.rooms[at].memory
	k.rooms[at] = room{}
	return memory
}
