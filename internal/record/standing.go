package record

import (
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/sample"
)

// Standing is the place of a record among those that wait for bytes, which are admitted
// in the order in which they go on. A batch that is made in a branch goes on after its
// newest sample, and those of other branches that are older than this, but younger than
// its others, are ahead of it.
type Standing struct {
	lane  *budget.Lane
	epoch int
	pos   int64
}

// lastPos is the position of a record that goes on after all samples of an epoch. An age
// has room for no higher one.
const lastPos = 1<<40 - 1

// standing is the place of a record.
func (r *Record) standing() Standing {
	if r.Standing != nil {
		return *r.Standing
	}
	return Standing{r.Source.Lane, r.ID.Epoch, r.ID.Pos}
}

// Stand gives a record the place of another one, after which it goes on.
func (r *Record) Stand(after *Record) {
	s := after.standing()
	r.Standing = &s
}

// StandLast gives a record a place after all samples of the epoch that another is of.
func (r *Record) StandLast(of *Record) {
	s := of.standing()
	s.pos = lastPos
	r.Standing = &s
}

// StandIn gives a record a place of a lane of its own.
func (r *Record) StandIn(lane *budget.Lane, pos int64) {
	r.Standing = &Standing{lane, r.ID.Epoch, pos}
}

// Lane is where the record waits for bytes, and the age of what that names is its own.
func (r *Record) Lane() (*budget.Lane, sample.ID) {
	s := r.standing()
	return s.lane, sample.ID{Epoch: s.epoch, Pos: s.pos}
}
