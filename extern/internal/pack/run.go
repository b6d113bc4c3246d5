package pack

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

// run takes results of Call.Run: it lays them into columns, up to the first sample that
// has failed.
func (k *Pack) run(r *message.Results) error {
	j := k.tasks[0]
	good := 0
	for good < r.N && r.Status(good) == message.ItemDone {
		good++
	}
	if j.Err == nil {
		if err := k.lay(r, good, j.Call); err != nil {
			return err
		}
		if j.Call.Ran += good; good < r.N {
			j.Err = k.failure(r, r.First+good)
		}
	}
	if errors.Is(j.Err, wire.ErrProtocol) {
		return j.Err
	}
	for i := range r.N {
		j.Call.Took += r.Took(i)
	}
	k.reported.Add(int64(r.N))
	k.Worked.Store(true)

	if r.Returned {
		if err := k.giveUp(r); err != nil {
			return err
		}
	}
	if r.Last { // from here on the call is not the pack's any more
		err := j.Err
		k.Release()
		k.Done(0, err)
	}
	return nil
}

// lay copies the results of so many samples behind the ones before them.
func (k *Pack) lay(r *message.Results, n int, c *Call) error {
	for f, field := range r.Schema {
		to := c.Into[f]
		size := len(to.Data) / len(c.Run)
		if block := r.Block(f); block != nil {
			copy(to.Data[c.Ran*size:], block[:n*size])
			k.of.BytesOut.Add(int64(n * size))
			continue
		}
		for i := range n {
			where, at, _, bytes := r.Value(f, i)
			var data, room []byte
			switch where {
			case message.InData:
				data = r.Data[at:][:bytes]
			case message.InRoom:
				room = k.taken(r.First+i, f, bytes)
			}
			if room != nil {
				data = room[:bytes]
			} else if where != message.InData {
				return fmt.Errorf("%w: field %q is where it does not belong", wire.ErrProtocol, field.Name)
			}
			if field.Type.Kind == sample.Text {
				to.Texts[c.Ran+i] = string(data)
			} else {
				copy(to.Data[(c.Ran+i)*size:][:size], data)
			}
			k.of.Heap.Give(room)
			k.of.BytesOut.Add(bytes)
		}
	}
	return nil
}
