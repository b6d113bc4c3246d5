package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

// begin writes the message.
func (k *Pack) begin(number uint32, random, epochs, all bool) {
	k.all = all
	k.ints, k.data, k.segments, k.borrowed, k.grants = k.ints[:0], k.data[:0], k.segments[:0], k.borrowed[:0], k.grants[:0]

	first := k.tasks[0].Call
	items, flags := len(k.tasks), uint64(0)
	switch {
	case first.Run != nil:
		items = len(first.Run) - first.Ran
		k.asked = items
		flags |= message.AsRun
	case k.of.Kind == Collate:
		items = first.Rows
	}

	if random {
		flags |= message.WithRandom
	}
	if epochs {
		flags |= message.WithEpoch
	}
	if k.of.Kind == Index || k.of.Kind == Iterate || k.of.Chain.Reads() || first.Object > 0 {
		flags |= message.WithIndex
	}
	if k.tasks[0].Yield != nil {
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
			if k.of.Kind == Chain {
				for _, key := range j.Call.Keys {
					k.ints = word(word(k.ints, key[0]), key[1])
				}
				continue
			}
			k.ints = word(word(k.ints, j.Call.Random[0]), j.Call.Random[1])
		}
	}
	if flags&message.WithIndex != 0 {
		for _, number := range first.Run[first.Ran:] {
			k.ints = word(k.ints, uint64(number))
		}
		for _, j := range k.tasks {
			switch {
			case k.many:
			case k.of.Kind == Aggregate:
				k.ints = word(k.ints, uint64(j.Call.Object))
			default:
				k.ints = word(k.ints, uint64(j.Call.ID.Index))
			}
		}
	}
	if flags&message.WithEpoch != 0 {
		for _, j := range k.tasks {
			for range max(1, len(j.Call.Run)-j.Call.Ran) { // all of a run have one
				k.ints = word(k.ints, uint64(j.Call.ID.Epoch))
			}
		}
	}

	if first.State != nil {
		k.align(16)
		k.ints = word(word(k.ints, uint64(len(k.data))), uint64(len(first.State)))
		k.data = append(k.data, first.State...)
	}

	if !first.Flush {
		for f := range k.of.In {
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

	credit := streamCredit
	if first.OneByOne {
		credit = 1
	}
	for i, v := range []uint64{
		uint64(items), flags, uint64(credit), uint64(rooms), uint64(len(k.ints)), uint64(number), saved, uint64(k.of.Number),
	} {
		binary.LittleEndian.PutUint64(k.ints[8*i:], v)
	}
}

func (k *Pack) align(n int) {
	for len(k.data)%n != 0 {
		k.data = append(k.data, 0)
	}
}

// value returns a field's value of the i-th sample.
func (k *Pack) value(i, f int) *Value {
	c := k.tasks[0].Call
	if k.of.Kind == Collate || c.Run != nil {
		return &c.In[(c.Ran+i)*len(k.of.In)+f]
	}
	return &k.tasks[i].Call.In[f]
}

// column writes a field of all samples, and tells whether some of it is the samples' own
// memory.
func (k *Pack) column(f, items int) (own bool) {
	kind := k.of.In[f].Type.Kind
	dims := len(k.of.In[f].Type.Shape)
	in, alike, all := int64(0), kind == sample.Tensor, true

	for i := range items {
		v := k.value(i, f)
		in += int64(len(v.Data) + len(v.Text))
		alike = alike && len(v.Data) <= inlineMost && v.Shape.Equal(k.value(0, f).Shape)
	}
	k.of.BytesIn.Add(in)

	// Small arrays of one shape are one block, with one entry instead of one for each.
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
			one := sharedValue{item: i, size: len(v.Data)}
			if shared {
				one.own = v.Data
			}
			k.sharedValues = append(k.sharedValues, one)
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

// place returns the place of bytes, after copying them into shared memory if necessary.
// shared is true if they were not copied.
func (k *Pack) place(b []byte) (at uint64, shared bool) {
	if len(b) > inlineMost {
		if at, in := k.of.Spaces.Find(b); in != nil {
			k.uses(in.Number)
			return at, true
		}
	}
	if len(b) > copyMost {
		c := k.of.Heap.Take(len(b))
		if at, in := k.of.Spaces.Find(c); in != nil {
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

func (k *Pack) uses(number uint64) {
	if number != shared.HeapSpace && k.Conn.Lacks(number) {
		k.segments = append(k.segments, number)
	}
}

// offer reserves memory for results and writes its places.
func (k *Pack) offer() (offered int) {
	k.rooms, k.whole = k.rooms[:0], nil
	if first := k.tasks[0]; first.Yield != nil || first.Call.Run != nil || k.of.Gives == nil {
		return 0
	}
	if at, in := k.of.Spaces.Find(k.tasks[0].Call.Whole); in != nil {
		k.uses(in.Number)
		k.whole = k.tasks[0].Call.Whole
		k.offered(0, allArrays, at, k.tasks[0].Call.Whole, false)
		return 1
	}
	for i, j := range k.tasks {
		for f := range k.of.Gives {
			r, at, in := k.of.room(j.Call, f)
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

func (k *Pack) offered(item, field int, at uint64, memory []byte, must bool) {
	k.ints = word(word(word(word(k.ints, uint64(item)), uint64(field)), at), uint64(len(memory)))
	if must {
		k.ints = word(k.ints, 1)
	} else {
		k.ints = word(k.ints, 0)
	}
}

// grant answers a worker that needs memory for a result.
func (k *Pack) grant(payload []byte) error {
	if len(payload) != 24 {
		return fmt.Errorf("%w: ROOM of %d bytes", wire.ErrProtocol, len(payload))
	}
	item, field, n := binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:]), binary.LittleEndian.Uint64(payload[16:])
	heap := k.of.Heap
	validPlace := item <= math.MaxUint32 && field < message.MostFields
	validSize := n > 0 && n <= uint64(len(heap.Memory)/4) // one result must not take all of the heap
	if !validPlace || !validSize || len(k.grants) >= 4*message.MostCalls {
		return fmt.Errorf("%w: ROOM of %d bytes for field %d of sample %d", wire.ErrProtocol, n, field, item)
	}
	memory, at, err := k.placed(int(item), int(field), int(n))
	if err != nil {
		return err
	}
	if memory == nil {
		memory = heap.Take(int(n))
		var in *shared.Space
		if at, in = k.of.Spaces.Find(memory); in == nil {
			return errors.New("extern: the heap has no room for a result")
		}
	}
	k.grants = append(k.grants, grant{int(item), int(field), memory})
	return k.Conn.Send(wire.KindRoom, k.Stream, word(nil, at))
}
