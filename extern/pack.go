package extern

import (
	"encoding/binary"
	"errors"
	"fmt"
	"headrace/extern/internal/message"
	"headrace/extern/internal/shared"
	"math"
	"sync/atomic"
	"unsafe"

	"headrace/sample"
	"headrace/wire"
)

// pack is what a lane has at a time, on its way there and back.
type pack struct {
	link     *link
	number   uint32 // of the stream that it travels on
	pid      int
	worked   *atomic.Bool                   // the process has done something
	done     func(first int, errs ...error) // calls have come back: they are not the pack's any more
	back     func(from int)                 // calls from there on were not begun, and will not be: they are not the pack's any more
	reported atomic.Int64                   // calls that have come back; very many where there is no pack
	saved    []byte                         // in the heap: where the worker copies what it is about to give to a function that may change it

	of       *function
	tasks    []*task
	all      bool   // the worker works on all samples at once
	ints     []byte // the words of the message
	data     []byte // and what is after them
	segments []uint64
	borrowed [][]byte // copies in the heap of values that lay elsewhere
	rooms    []room   // by sample and output
	grants   []grant
	whole    []byte // memory for all arrays of a batch that the worker knows of
	filled   int64  // of that, by those arrays that were looked at
	single   bool   // it is one call, whatever the worker counts in it
	began    bool   // a stream has given something
	values   []Value
	errs     []error
	kept     []keeping // what the function may change
	safe     bool      // and what it changes can be restored
	seen     int       // samples that a stream has given, of this worker
}

// reset makes it a pack of no calls yet, and of this function.
func (k *pack) reset(of *function) {
	k.of, k.tasks, k.began, k.seen, k.kept, k.all, k.whole = of, k.tasks[:0], false, 0, k.kept[:0], false, nil
}

// add adds a call.
func (k *pack) add(t *task) {
	k.tasks = append(k.tasks, t)
	k.single = t.yield != nil || k.of.kind == Collate
}

// begin writes the message.
func (k *pack) begin(number uint32, has installed) {
	k.all = has.all
	k.ints, k.data, k.segments, k.borrowed, k.grants = k.ints[:0], k.data[:0], k.segments[:0], k.borrowed[:0], k.grants[:0]

	first := k.tasks[0].call
	items := len(k.tasks)
	if k.of.kind == Collate {
		items = first.Rows
	}

	flags := uint64(0)
	if has.random {
		flags |= message.WithRandom
	}
	if k.of.kind == Index || k.of.kind == Iterate || k.of.chain.Reads() {
		flags |= message.WithIndex
	}
	if k.tasks[0].yield != nil {
		flags |= message.AsStream
	}
	if first.Flush {
		flags |= message.AsFlush
	}
	if first.Begin {
		flags |= message.AsFresh
	}
	if first.State != nil {
		flags |= message.WithState
	}

	k.ints = append(k.ints, make([]byte, message.PackHead*8)...)
	if flags&message.WithRandom != 0 {
		for _, j := range k.tasks {
			if k.of.kind == Chain {
				for _, key := range j.call.Keys {
					k.ints = word(word(k.ints, key[0]), key[1])
				}
				continue
			}
			k.ints = word(word(k.ints, j.call.Random[0]), j.call.Random[1])
		}
	}
	if flags&message.WithIndex != 0 {
		for _, j := range k.tasks {
			k.ints = word(k.ints, uint64(j.call.ID.Index))
		}
	}

	if first.State != nil {
		k.align(16)
		k.ints = word(word(k.ints, uint64(len(k.data))), uint64(len(first.State)))
		k.data = append(k.data, first.State...)
	}

	if !first.Flush {
		for f := range k.of.in {
			if k.column(f, items) {
				flags |= message.OwnShared
			}
		}
	}

	rooms := k.offer()
	saved := k.save(flags&message.OwnShared != 0)

	// The data is after the words; what is aligned in it must be so in the message.
	for len(k.ints)%16 != 0 {
		k.ints = word(k.ints, 0)
	}
	k.align(8)

	for i, v := range []uint64{uint64(items), flags, streamCredit, uint64(rooms), uint64(len(k.ints)), uint64(number), saved, uint64(k.of.number)} {
		binary.LittleEndian.PutUint64(k.ints[8*i:], v)
	}
}

func (k *pack) align(n int) {
	for len(k.data)%n != 0 {
		k.data = append(k.data, 0)
	}
}

// value is the value of a field of the i-th sample.
func (k *pack) value(i, f int) *Value {
	if k.of.kind == Collate {
		return &k.tasks[0].call.In[i*len(k.of.in)+f]
	}
	return &k.tasks[i].call.In[f]
}

// column writes a field of all samples, and tells whether some of it is the samples' own
// memory.
func (k *pack) column(f, items int) (own bool) {
	kind := k.of.in[f].Type.Kind
	dims := len(k.of.in[f].Type.Shape)
	in, alike, all := int64(0), kind == sample.Tensor, true

	for i := range items {
		v := k.value(i, f)
		in += int64(len(v.Data) + len(v.Text))
		alike = alike && len(v.Data) <= inlineMost && v.Shape.Equal(k.value(0, f).Shape)
	}
	k.of.bytesIn.Add(in)

	if alike && items > 0 {
		k.align(16)
		k.ints = word(word(k.ints, message.InRows), uint64(len(k.data)))
		for _, n := range k.value(0, f).Shape {
			k.ints = word(k.ints, uint64(n))
		}
		for i := range items {
			k.data = append(k.data, k.value(i, f).Data...)
		}
		return false
	}

	mode := len(k.ints)
	k.ints = word(k.ints, message.Apart)
	for i := range items {
		v := k.value(i, f)
		if kind == sample.Text {
			k.ints = word(word(k.ints, uint64(len(k.data))), uint64(len(v.Text)))
			k.data = append(k.data, v.Text...)
			all = false
			continue
		}

		at, shared := k.place(v.Data)
		if at>>message.PlaceBits != 0 && kind != sample.Bytes {
			one := keeping{item: i, size: len(v.Data)}
			if shared {
				one.own = v.Data
			}
			k.kept = append(k.kept, one)
		}
		own, all = own || shared && kind != sample.Bytes, all && shared // bytes are read-only there

		k.ints = word(k.ints, at)
		if kind != sample.Tensor {
			k.ints = word(k.ints, uint64(len(v.Data)))
			continue
		}
		for _, n := range v.Shape[:dims] {
			k.ints = word(k.ints, uint64(n))
		}
	}

	if all {
		k.ints[mode] |= message.OwnMemory
	}
	return own
}

// place says where bytes are, after it has copied them there if it must. shared: they are
// where they lay.
func (k *pack) place(b []byte) (at uint64, shared bool) {
	if len(b) > inlineMost {
		if at, in := k.of.spaces.Find(b); in != nil {
			k.uses(in.Number)
			return at, true
		}
	}
	if len(b) > copyMost {
		c := k.of.heap.Take(len(b))
		if at, in := k.of.spaces.Find(c); in != nil {
			copy(c, b)
			k.borrowed = append(k.borrowed, c)
			return at, false
		}
	}
	k.align(16)
	at = uint64(len(k.data))
	k.data = append(k.data, b...)
	return at, false
}

// save reserves memory for a copy of what a function may change in place, so that it can
// be called again for the same sample; and returns where that is, 0 for nowhere. The
// worker makes the copy, of one sample at a time, before it says in its cell that this
// one is in work: the values in k.kept after each other, at multiples of 64 bytes.
func (k *pack) save(own bool) (at uint64) {
	k.safe = !own || k.of.copies || k.all || k.of.kind == Aggregate
	if k.safe {
		return 0
	}
	var sizes [message.MostCalls]int
	for _, v := range k.kept {
		sizes[k.keeper(v)] += aligned(v.size)
	}
	size := 0
	for _, n := range sizes {
		size = max(size, n)
	}
	if cap(k.saved) < size {
		k.of.heap.Give(k.saved)
		k.saved = k.of.heap.Take(size)
	}
	if at, in := k.of.spaces.Find(k.saved[:size]); in != nil {
		k.safe = true
		return at
	}
	return 0 // the heap is full
}

// restore makes what a sample's function was given what it was before; false: nobody
// knows.
func (k *pack) restore(item int) bool {
	if !k.safe {
		return false
	}
	at := 0
	for _, v := range k.kept {
		if k.keeper(v) != item {
			continue
		}
		if v.own != nil && !k.of.copies && !k.all {
			copy(v.own, k.saved[at:][:v.size])
		}
		at += aligned(v.size)
	}
	return true
}

// keeper is the call that a value is of.
func (k *pack) keeper(v keeping) int {
	if k.of.kind == Collate {
		return 0
	}
	return v.item
}

func (k *pack) uses(number uint64) {
	if number != shared.HeapSpace && k.link.lacks(number) {
		k.segments = append(k.segments, number)
	}
}

// offer reserves memory for results, and writes where it is.
func (k *pack) offer() (offered int) {
	k.rooms, k.whole = k.rooms[:0], nil
	if k.tasks[0].yield != nil || k.of.gives == nil {
		return 0
	}
	if at, in := k.of.spaces.Find(k.tasks[0].call.Whole); in != nil {
		k.uses(in.Number)
		k.whole = k.tasks[0].call.Whole
		k.offered(0, allArrays, at, k.tasks[0].call.Whole, false)
		return 1
	}
	for i, j := range k.tasks {
		for f := range k.of.gives {
			r, at, in := k.of.room(j.call, f)
			k.rooms = append(k.rooms, r)
			if in == nil {
				continue
			}
			k.uses(in.Number)
			k.offered(i, f, at, r.memory, !r.own)
			offered++
		}
	}
	return offered
}

func (k *pack) offered(item, field int, at uint64, memory []byte, must bool) {
	k.ints = word(word(word(word(k.ints, uint64(item)), uint64(field)), at), uint64(len(memory)))
	if must {
		k.ints = word(k.ints, 1)
	} else {
		k.ints = word(k.ints, 0)
	}
}

// release gives back what nobody was given. The worker must not write there any more: it
// has answered, or is dead.
func (k *pack) release() {
	heap := k.of.heap
	for _, b := range k.borrowed {
		heap.Give(b)
	}
	for _, r := range k.rooms {
		if r.own {
			heap.Give(r.memory)
		}
	}
	for _, g := range k.grants {
		heap.Give(g.memory)
	}
	k.borrowed, k.rooms, k.grants = k.borrowed[:0], k.rooms[:0], k.grants[:0]
}

// grant answers a worker that needs memory for a result.
func (k *pack) grant(payload []byte) error {
	if len(payload) != 24 {
		return fmt.Errorf("%w: ROOM of %d bytes", wire.ErrProtocol, len(payload))
	}
	item, field, n := binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:]), binary.LittleEndian.Uint64(payload[16:])
	heap := k.of.heap
	if item > math.MaxUint32 || field >= message.MostFields || n == 0 || n > uint64(len(heap.Memory)/4) || len(k.grants) >= 4*message.MostCalls {
		return fmt.Errorf("%w: ROOM of %d bytes for field %d of sample %d", wire.ErrProtocol, n, field, item)
	}
	memory := heap.Take(int(n))
	at, in := k.of.spaces.Find(memory)
	if in == nil {
		return errors.New("extern: the heap has no room for a result")
	}
	k.grants = append(k.grants, grant{int(item), int(field), memory})
	return k.link.conn.Send(wire.KindRoom, k.number, word(nil, at))
}

// results takes what the worker has sent: it completes calls, or hands a stream's samples
// on.
func (k *pack) results(payload []byte) (last bool, err error) {
	r, err := message.ParseResults(payload, k.of.gives, len(k.of.chain))
	if err != nil {
		return false, err
	}
	k.of.chain.Count(r)

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
		err := k.result(r, i, r.First+i, j.call)
		if errors.Is(err, wire.ErrProtocol) {
			k.done(r.First, errs...)
			return false, err
		}
		j.call.Took = r.Took(i)
		k.reported.Add(1)
		k.worked.Store(true)
		errs = append(errs, err)
	}

	// From here on these samples are not the pack's any more.
	if r.Last {
		k.release()
	}
	k.done(r.First, errs...)
	clear(errs)
	k.errs = errs

	if r.Returned {
		rest := r.First + r.N + 1 // after the one in work
		if rest >= len(k.tasks) {
			return false, fmt.Errorf("%w: RESULTS return samples from %d on of %d", wire.ErrProtocol, rest, len(k.tasks))
		}
		k.tasks = k.tasks[:rest]
		k.back(rest)
	}
	return r.Last, nil
}

// result makes a call's results of what has come for it.
func (k *pack) result(r *message.Results, i, item int, c *Call) error {
	switch r.Status(i) {
	case message.ItemFailed:
		e := r.Failure(item)
		if e == nil {
			return fmt.Errorf("%w: a sample has failed without a reason", wire.ErrProtocol)
		}
		if e.Overdue {
			return &LimitError{Stage: k.of.stage, PID: k.pid, Limit: k.of.limit, Cancelled: true, Stack: e.Traceback}
		}
		return (*CallError)(e)
	case message.ItemDropped:
		if kind := k.of.kind; kind != Filter && kind != Chain {
			return fmt.Errorf("%w: a sample was dropped by what is no filter", wire.ErrProtocol)
		}
		c.Keep, c.Out, c.Same = false, c.Out[:0], c.Same[:0]
		return nil
	}

	c.Keep = true
	c.Out, c.Same = c.Out[:0], c.Same[:0]
	c.Names, c.Found = r.Names, r.Found
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

	k.of.bytesOut.Add(out)
	return nil
}

// forfeit gives back what a call was given already, whose results turned out wrong.
func (k *pack) forfeit(c *Call) {
	for i, v := range c.Out {
		if c.Same[i] < 0 && (i >= len(c.Room) || c.Room[i] == nil) && !within(c.Whole, v.Data) {
			k.of.heap.Give(v.Data)
		}
	}
	c.Out, c.Same = c.Out[:0], c.Same[:0]
}

// output is one value. Text is copied, what came with the message too.
func (k *pack) output(r *message.Results, f, i, item int, c *Call) (v Value, same int, err error) {
	t := r.Schema[f].Type
	where, at, shape, bytes := r.Value(f, i)

	var given []byte
	if f < len(c.Room) {
		given = c.Room[f]
	}

	v = Value{Kind: t.Kind, DType: t.DType, Shape: shape}

	switch where {
	case message.IsSame:
		if at < 0 || at >= int64(len(c.In)) || k.of.kind == Collate { // flush() has none, and a batch is no sample's value
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
			defer k.of.heap.Give(memory)
			if bytes > int64(len(given)) {
				return Value{}, -1, tooLarge(r.Schema[f], int(bytes), len(given))
			}
			v.Data = given[:copy(given, v.Data)]
			return v, -1, nil
		}

		if t.Kind == sample.Text {
			v.Text = string(v.Data)
			k.of.heap.Give(memory)
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
		v.Data = k.of.heap.Take(len(data))
		copy(v.Data, data)
	}
	return v, -1, nil
}

// taken is the memory that the worker had for a result. It is not the pack's any more.
func (k *pack) taken(item, f int) []byte {
	for i, g := range k.grants {
		if g.item == item && g.field == f {
			k.grants[i] = k.grants[len(k.grants)-1]
			k.grants = k.grants[:len(k.grants)-1]
			return g.memory
		}
	}
	if at := item*len(k.of.gives) + f; at < len(k.rooms) && k.rooms[at].memory != nil {
		memory := k.rooms[at].memory
		k.rooms[at] = room{}
		return memory
	}
	return nil
}

// stream hands a stream's samples on, or completes a call of several samples.
func (k *pack) stream(r *message.Results) error {
	j := k.tasks[0]

	if j.yield == nil { // Collate
		if r.First != 0 || r.N != 1 || !r.Last {
			return fmt.Errorf("%w: RESULTS of %d samples, where there is one", wire.ErrProtocol, r.N)
		}
		err := k.result(r, 0, 0, j.call)
		if errors.Is(err, wire.ErrProtocol) {
			return err
		}

		j.call.Took = r.Took(0)
		k.worked.Store(true)
		k.release()
		k.done(0, err)
		return nil
	}

	k.worked.Store(true)
	for i := range r.N {
		if j.err != nil {
			break
		}

		c := Call{In: j.call.In, Out: k.values[:0]}
		if err := k.result(r, i, r.First+i, &c); err != nil {
			if errors.Is(err, wire.ErrProtocol) {
				return err
			}
			j.err = err
			break
		}

		if k.seen++; k.seen <= j.given { // a worker before this one had given it
			k.forfeit(&c)
			continue
		}

		for n, same := range c.Same {
			if same >= 0 { // each sample has memory of its own
				own := k.of.heap.Take(len(c.Out[n].Data))
				copy(own, c.Out[n].Data)
				c.Out[n].Data = own
			}
		}

		k.values = c.Out
		k.began = true
		j.given++
		j.call.Names = c.Names
		j.call.Took += r.Took(i)
		j.err = j.yield(c.Out)
	}

	j.call.Took += r.Rest
	if r.State != nil {
		j.call.State = r.State
	}
	k.reported.Add(int64(r.N))

	if r.Last {
		err := j.err
		k.release()
		k.done(0, err)
		return nil
	}

	stop := uint64(0)
	if j.err != nil || j.ctx.Err() != nil {
		stop = 1
		if j.err == nil {
			j.err = j.ctx.Err()
		}
	}
	return k.link.conn.Send(wire.KindPull, k.number, word(nil, stop))
}
