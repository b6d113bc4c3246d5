package pipe

import (
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
)

// Outputs are several that an aggregator makes of the same items: each is an item of its
// own, which is handed on at once, and the items are finished when all of them are,
// after Close. A state may be between two: after a resume the items come again, and
// those that are finished are dropped.
type Outputs[In, Out any] struct {
	emitter *Emitter[In, Out]
	fanOut  progress.FanOut
	newest  holding[In]
	losses  []progress.LostInput // told with the end
}

// Open begins outputs that are made of these items together. They need not be closed
// before others are opened, but before Flush returns.
func (e *Emitter[In, Out]) Open(of ...Held[In]) *Outputs[In, Out] {
	o := &Outputs[In, Out]{emitter: e}
	for _, h := range of {
		if held, ok := e.release(h); ok {
			held.joinTo(&o.fanOut.Parent, true)
			o.newest = held
		}
	}
	if len(of) == 0 {
		e.wrong("outputs that are made of no item")
	}
	s := e.stage
	done, err := s.saved.Claim(&o.fanOut.Parent, e.epoch)
	if err != nil && !s.cutShort(e.epoch) { // else they lack what a source has left out, and are not needed
		e.fail(queue.Fatal, o.fanOut.Parent, Fatal(err))
	}
	o.fanOut.Stage, o.fanOut.Skip = s.key(), done
	o.fanOut.BeginInLine(e.line, e.groups)
	e.groups++
	e.open++
	return o
}

// Emit hands on an output. It waits while the queue is full.
func (o *Outputs[In, Out]) Emit(v Out) {
	e := o.emitter
	child, ok := o.fanOut.Next()
	if !ok || e.misuse != nil {
		e.stage.out.DiscardMsg(queue.Message[Out]{Kind: queue.Item, Val: v})
		return
	}
	e.worker.Interrupt()
	if e.send(queue.Message[Out]{Kind: queue.Item, Val: v, Lineage: child}) {
		e.worker.Out.Add(1)
		e.emitted++
	}
}

// Close ends the outputs. State is what the aggregator knows from now on, for [Memory].
func (o *Outputs[In, Out]) Close(state string) {
	o.fanOut.Remember(state)
	end := o.fanOut.End()
	if !o.fanOut.Ended() {
		for _, l := range append(o.fanOut.Untold(), o.losses...) {
			end.Lose(l)
		}
	}
	o.emitter.open--
	o.emitter.send(queue.Message[Out]{Kind: queue.Gone, Lineage: end})
}

// Fail ends them because of an error, after which more was to come. What was handed on
// stays, and of each of the items something is lost.
func (o *Outputs[In, Out]) Fail(err error) {
	// it was lost before the run was resumed; or what fails is the end of the run
	if o.fanOut.Ended() || o.emitter.over || o.emitter.worker.Ctx.Err() != nil {
		o.Close("")
		return
	}
	o.emitter.open--
	o.emitter.fail(failureOf(err), o.fanOut.End(), err)
}

// Lose is for an item that is held and has failed, where the aggregator may remember it
// all the same: the loss is reported with the output that is made of it, with those that
// are held with it, or at the end of the epoch. A state counts it then, so that a resumed
// run gives the aggregator that item, too. Where no loss is tolerated, the run ends.
func (e *Emitter[In, Out]) Lose(v Held[In], err error) {
	if e.idle(err) {
		return
	}
	i := e.held.find(v.number)
	switch {
	case i < 0:
		e.wrong("an item before it says that this is lost")
	case e.stage.raises || Stops(err):
		held, _ := e.release(v)
		e.fail(failureOf(err), held.lineage, err)
	default:
		e.held.all[i].loss = e.stage.NewFailure(err)
	}
}

// Lose is that of the emitter, for the newest of the items that these outputs are made
// of.
func (o *Outputs[In, Out]) Lose(err error) {
	e := o.emitter
	switch t := o.newest.lineage; {
	case e.idle(err):
	case e.stage.raises || Stops(err):
		e.fail(failureOf(err), t, err)
	default:
		o.losses = append(o.losses, progress.LostInput{Of: t, Why: e.stage.NewFailure(err)})
	}
}

// idle tells whether what fails does so since the stage was stopped.
func (e *Emitter[In, Out]) idle(err error) bool {
	e.worker.NoteError(err)
	return e.over || e.worker.Ctx.Err() != nil
}

// joinTo makes an item that is used now a member of what is made of it, or notes that it
// is lost.
func (h *holding[In]) joinTo(t *progress.Lineage, apart bool) {
	if h.loss == nil {
		t.Join(h.lineage, apart)
	} else {
		t.Aside(h.told(), apart)
	}
}

// told is the lineage of an item that is used now, with its loss where it is lost.
func (h *holding[In]) told() progress.Lineage {
	if h.loss == nil {
		return h.lineage
	}
	var t progress.Lineage
	t.Add(h.lineage)
	t.Lose(progress.LostInput{Of: h.lineage, Why: h.loss})
	return t
}

// A Resumer is an aggregator that remembers something of items of which it has emitted
// outputs. Resume is called before the first Add of an epoch of which such outputs are
// finished, in the run before. Outputs are finished in their order here: a state in which
// later ones were handed on, and not all of the earlier, counts these alone.
type Resumer interface{ Resume(Memory) error }
