package pack

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/wire"
)

// stream passes a stream's samples on, or completes a call of several samples.
func (k *Pack) stream(r *message.Results) error {
	j := k.tasks[0]

	if j.Yield == nil { // Collate
		if r.First != 0 || r.N != 1 || !r.Last {
			return fmt.Errorf("%w: RESULTS of %d samples, where there is one", wire.ErrProtocol, r.N)
		}
		err := k.result(r, 0, 0, j.Call)
		if errors.Is(err, wire.ErrProtocol) {
			return err
		}

		j.Call.Took = r.Took(0)
		k.Worked.Store(true)
		k.Release()
		k.Done(0, err)
		return nil
	}

	k.Worked.Store(true)
	for i := range r.N {
		if j.Err != nil {
			break
		}

		c := Call{In: j.Call.In, Out: k.values[:0]}
		if err := k.result(r, i, r.First+i, &c); err != nil {
			if errors.Is(err, wire.ErrProtocol) {
				return err
			}
			j.Err = err
			break
		}

		if k.seen++; k.seen <= j.given { // a worker before this one had given it
			k.giveBack(&c)
			continue
		}

		for n, same := range c.Same {
			if same >= 0 { // each sample has memory of its own
				own := k.of.Heap.Take(len(c.Out[n].Data))
				copy(own, c.Out[n].Data)
				c.Out[n].Data = own
			}
		}

		k.values = c.Out
		k.began = true
		j.given++
		j.Call.Names, j.Call.Unnamed, j.Call.Tuple = c.Names, c.Unnamed, c.Tuple
		j.Call.Took += r.Took(i)
		j.Err = j.Yield(c.Out)
	}

	j.Call.Took += r.Rest
	if r.State != nil {
		j.Call.State = r.State
	}
	k.reported.Add(int64(r.N))

	if r.Last {
		err := j.Err
		k.Release()
		k.Done(0, err)
		return nil
	}

	stop := uint64(0)
	if j.Err != nil || j.Ctx.Err() != nil {
		stop = 1
		if j.Err == nil {
			j.Err = j.Ctx.Err()
		}
	}
	return k.Conn.Send(wire.KindPull, k.Stream, word(nil, stop))
}
