package pack

import (
	"errors"
	"fmt"
	"unsafe"

	"headrace/extern/internal/message"
	"headrace/sample"
	"headrace/wire"
)

// results takes what the worker has sent: it completes calls, or hands a stream's samples
// on.
func (k *Pack) results(payload []byte) (last bool, err error) {
	r, err := message.ParseResults(payload, k.of.Gives, len(k.of.Chain))
	if err != nil {
		return false, err
	}
	k.of.Chain.Count(r)

	if k.single {
		if r.Returned {
			return false, fmt.Errorf("%w: RESULTS return samples of a single call", wire.ErrProtocol)
		}
		return r.Last, k.stream(r)
	}
	if r.First != int(k.reported.Load()) || r.N > len(k.tasks)-r.First || r.Last != (r.First+r.N == len(k.tasks)) {
		return false, fmt.Errorf("%w: RESULTS of samples %d to %d of %d", wire.ErrProtocol, r.First, r.First+r.N, len(k.tasks))
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
		rest := r.First + r.N + 1 // after the one in work
		if rest >= len(k.tasks) {
			return false, fmt.Errorf("%w: RESULTS return samples from %d on of %d", wire.ErrProtocol, rest, len(k.tasks))
		}
		k.tasks = k.tasks[:rest]
		k.Back(rest)
	}
	return r.Last, nil
}

// result makes a call's results of what has come for it.
func (k *Pack) result(r *message.Results, i, item int, c *Call) error {
	switch r.Status(i) {
	case message.ItemFailed:
		e := r.Failure(item)
		if e == nil {
			return fmt.Errorf("%w: a sample has failed without a reason", wire.ErrProtocol)
		}
		if e.Overdue {
			return &LimitError{Stage: k.of.Stage, PID: k.PID, Limit: k.of.Limit, Cancelled: true, Stack: e.Traceback}
		}
		return e
	case message.ItemDropped:
		if kind := k.of.Kind; kind != Filter && kind != Chain {
			return fmt.Errorf("%w: a sample was dropped, but not by a filter", wire.ErrProtocol)
		}
		c.Keep, c.Out, c.Same = false, c.Out[:0], c.Same[:0]
		return nil
	}

	c.Keep = true
	c.Out, c.Same = c.Out[:0], c.Same[:0]
	c.Names, c.Tuple, c.Found = r.Names, r.Tuple, r.Found
	k.filled = 0
	var out int64

	for f := range r.Schema {
		v, same, err := k.output(r, f, i, item, c)
		if err != nil {
			k.forfeit(c)
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

// forfeit gives back what a call was given already, whose results turned out wrong.
func (k *Pack) forfeit(c *Call) {
	for i, v := range c.Out {
		if c.Same[i] < 0 && (i >= len(c.Room) || c.Room[i] == nil) && !within(c.Whole, v.Data) {
			k.of.Heap.Give(v.Data)
		}
	}
	c.Out, c.Same = c.Out[:0], c.Same[:0]
}

// output is one value. Text is copied, what came with the message too.
func (k *Pack) output(r *message.Results, f, i, item int, c *Call) (v Value, same int, err error) {
	t := r.Schema[f].Type
	where, at, shape, bytes := r.Value(f, i)

	var given []byte
	if f < len(c.Room) {
		given = c.Room[f]
	}

	v = Value{Kind: t.Kind, DType: t.DType, Shape: shape}

	switch where {
	case message.IsSame:
		if at < 0 || at >= int64(len(c.In)) || k.of.Kind == Collate { // flush() has none, and a batch is no sample's value
			return Value{}, -1, fmt.Errorf("%w: a result is input %d of %d", wire.ErrProtocol, at, len(c.In))
		}
		v = c.In[at]
		if v.Kind != t.Kind || v.DType != t.DType || len(v.Shape) != len(t.Shape) || t.Kind == sample.Tensor && !message.Fits(v.Shape, t.Shape) {
			return Value{}, -1, fmt.Errorf("%w: field %q is an input of another type", wire.ErrProtocol, r.Schema[f].Name)
		}

		for _, other := range c.Same {
			if other == int(at) && v.Kind != sample.Text {
				return Value{}, -1, fmt.Errorf("%w: two results are input %d", wire.ErrProtocol, at)
			}
		}

		if v.Kind == sample.Text {
			return v, -1, nil
		}
		if given != nil {
			if len(v.Data) > len(given) {
				return Value{}, -1, tooLarge(r.Schema[f], len(v.Data), len(given))
			}
			n := copy(given, v.Data)
			v.Data = given[:n]
			return v, -1, nil
		}
		return v, int(at), nil
	case message.InRoom:
		memory := k.taken(item, f)
		if memory == nil || bytes > int64(len(memory)) {
			return Value{}, -1, fmt.Errorf("%w: field %q was written where there is no room for it", wire.ErrProtocol, r.Schema[f].Name)
		}

		k.of.note(f, bytes)
		v.Data = memory[:bytes]

		if given != nil && unsafe.SliceData(memory) != unsafe.SliceData(given) { // the worker was not offered it: it is small, or is where no worker can write
			defer k.of.Heap.Give(memory)
			if bytes > int64(len(given)) {
				return Value{}, -1, tooLarge(r.Schema[f], int(bytes), len(given))
			}
			v.Data = given[:copy(given, v.Data)]
			return v, -1, nil
		}

		if t.Kind == sample.Text {
			v.Text = string(v.Data)
			k.of.Heap.Give(memory)
			v.Data = nil
		}
		return v, -1, nil
	case message.InWhole:
		if t.Kind != sample.Tensor || at != k.filled || at > int64(len(k.whole)) || bytes > int64(len(k.whole))-at || k.whole == nil {
			return Value{}, -1, fmt.Errorf("%w: field %q was written where it does not belong", wire.ErrProtocol, r.Schema[f].Name)
		}
		v.Data = k.whole[at:][:bytes:bytes]
		return v, -1, nil
	}

	k.of.note(f, bytes)
	data := r.Data[at:][:bytes]
	switch {
	case t.Kind == sample.Text:
		v.Text = string(data)
	case given != nil:
		if len(data) > len(given) {
			return Value{}, -1, tooLarge(r.Schema[f], len(data), len(given))
		}
		v.Data = given[:copy(given, data)]
	default:
		v.Data = k.of.Heap.Take(len(data))
		copy(v.Data, data)
	}
	return v, -1, nil
}

// taken is the memory that the worker had for a result. It is not the pack's any more.
func (k *Pack) taken(item, f int) []byte {
	for i, g := range k.grants {
		if g.item == item && g.field == f {
			k.grants[i] = k.grants[len(k.grants)-1]
			k.grants = k.grants[:len(k.grants)-1]
			return g.memory
		}
	}
	if at := item*len(k.of.Gives) + f; at < len(k.rooms) && k.rooms[at].memory != nil {
		memory := k.rooms[at].memory
		k.rooms[at] = room{}
		return memory
	}
	return nil
}
