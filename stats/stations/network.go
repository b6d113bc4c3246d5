package stations

import "slices"

// Network has the stations that a run's samples visit, as measured.
type Network struct {
	Rate   float64 // samples a second
	InHand float64 // samples that can be on their way at once

	Stages []Station
	CPU    Station // all CPUs that the processes may use
	Loop   Station // the consumer
	Cores  int

	Handed   float64 // the share of the loop's time in which batches are handed over
	OnDemand bool    // batches are made when the consumer asks, and not while it works
}

// Station has a share of its time to work. A worker that waits for a CPU looks as if it
// worked: alone on the machine its share would be less.
type Station struct {
	Name, Short  string
	Workers      int
	Share, Alone float64
	CPU          float64 // the share of all CPUs' time that its work takes
	Function     float64 // of share, the user's functions by the clocks of their workers
	Python       bool    // functions of the user's
	Here         bool    // in threads of the user's program
	Given        bool    // somebody has said how many workers it has
	Source       bool
}

// times returns the station with so many times the work.
func (t Station) times(factor float64) Station {
	t.Share, t.Alone, t.CPU, t.Function = factor*t.Share, factor*t.Alone, factor*t.CPU, factor*t.Function
	return t
}

// less returns the station with so much less to do.
func (t Station) less(share float64) Station {
	t.Share, t.Alone = max(0, t.Share-share), max(0, t.Alone-share)
	return t
}

func (n Network) clone() Network {
	n.Stages = slices.Clone(n.Stages)
	return n
}

// all has the stages first. Where batches are made on demand, the consumer and the
// busiest of the others take turns, which is a station, too.
func (n Network) all() []Station {
	all := append(slices.Clone(n.Stages), n.CPU)
	turns := n.Loop
	for _, t := range all {
		turns.Share = max(turns.Share, n.Loop.Share+t.Share)
	}
	if all = append(all, n.Loop); n.OnDemand {
		all = append(all, turns)
	}
	return all
}

// slowest is the stage with the most to do; -1: there is none that works.
func (n Network) slowest() int {
	best := -1
	for i, t := range n.Stages {
		if t.Share > 0 && (best < 0 || t.Share > n.Stages[best].Share) {
			best = i
		}
	}
	return best
}

// busiest is the greatest share that a station has.
func (n Network) busiest() (most float64) {
	for _, t := range n.all() {
		most = max(most, t.Share)
	}
	return most
}

// reaches returns the factor of the rate if the stations had the shares of another
// network. The busiest station works for no greater share of its time than the busiest
// does now, nor for more than stations that share samples with it by chance let it.
func (n Network) reaches(then Network) float64 {
	sum, most := 0.0, then.busiest()
	for _, t := range then.all() {
		sum += t.Share
	}
	balanced := n.InHand / (n.InHand - 1 + sum/most)
	return max(1, min(1, n.busiest(), balanced)/most)
}
