package stats

import (
	"slices"
	"time"

	"github.com/headrace/headrace/pipe"
)

// network is what a run has shown of the stations that its samples visit.
type network struct {
	rate   float64 // samples a second
	inHand float64 // samples that can be on their way at once

	stages []station
	cpu    station // all CPUs that the processes may use
	loop   station // the consumer
	cores  int

	handed   float64 // the share of the loop's time in which batches are handed over
	onDemand bool    // batches are made when the consumer asks, and not while it works
}

// station has a share of its time to work. A worker that waits for a CPU looks as if it
// worked: alone on the machine its share would be less.
type station struct {
	name         string
	workers      int
	share, alone float64
	cpu          float64 // the share of all CPUs' time that its work takes
	function     float64 // of share, the user's functions by the clocks of their workers
	python       bool    // functions of the user's
	here         bool    // in threads of the user's program
	given        bool    // somebody has said how many workers it has
	source       bool
}

// networkOf tells what a run has shown; not ok: too little.
func networkOf(s Snapshot) (n network, ok bool) {
	if !judged(s) || len(s.Stages) == 0 || s.Resources.Cores == 0 || s.Resources.Elapsed < enough || s.Loop < enough || s.Stalled != nil {
		return n, false
	}
	samples := s.Yielded
	if last := s.Stages[len(s.Stages)-1]; makesBatches(last) {
		at := gathering(s.Stages)
		samples = at.In - at.Ahead
	}
	if samples <= 0 {
		return n, false
	}
	// The loop begins with its first batch, for which it waited longer than for others.
	inLoop := float64(s.Yielded)
	if s.Start > 0 {
		inLoop--
	}
	n = network{rate: float64(samples) / float64(s.Yielded) * inLoop / s.Loop.Seconds(), cores: s.Resources.Cores, handed: share(s.Handed, s.Loop), onDemand: s.Memory.Batches.OnDemand}
	n.cpu, n.loop = cpuOf(s), loopOf(s)
	for _, t := range s.Stages {
		n.stages = append(n.stages, stationOf(s, t))
		n.inHand += float64(max(1, t.Workers) * max(1, t.InFlightPerWorker))
	}
	n.lessWaitsOfTheEngine(s)
	for _, q := range s.Queues {
		n.inHand += float64(q.Cap)
	}
	return n, true
}

// lessWaitsOfTheEngine makes the engine's stages need no more at least than the CPU time
// that the engine has had: its threads share the CPUs with other processes.
func (n *network) lessWaitsOfTheEngine(s Snapshot) {
	busy, had := 0.0, engineCPU(s)*float64(n.cores)
	for _, t := range n.stages {
		if !t.python {
			busy += t.share * float64(t.workers)
		}
	}
	for i, t := range n.stages {
		if !t.python && n.cpu.share > saturated && had < busy {
			n.stages[i].alone *= had / busy
		}
	}
}

// cpuOf is the station of the CPUs.
func cpuOf(s Snapshot) station {
	used := time.Duration(0)
	for _, p := range s.Resources.Processes {
		used += p.CPU()
	}
	u := share(used, time.Duration(s.Resources.Cores)*s.Resources.Elapsed)
	if others, all, ok := s.Resources.others(); ok { // they stay
		u += others / all
	}
	u = min(1, u)
	return station{name: "CPU", workers: s.Resources.Cores, share: u, alone: u}
}

// loopOf is the station of the consumer: handing over and steps with where="main" are
// work of its thread.
func loopOf(s Snapshot) station {
	u := min(1, share(s.Loop-s.Waited+s.Handed+s.Main, s.Loop))
	l := station{name: s.consumer(), workers: 1, share: u, alone: u}
	for _, p := range s.Resources.Processes {
		if p.Name == "trainer" {
			l.alone = max(u/4, u-delayed(p, s.Resources.Elapsed))
			l.cpu = share(p.CPU(), time.Duration(s.Resources.Cores)*s.Resources.Elapsed)
		}
	}
	return l
}

// stationOf is the station of a stage.
func stationOf(s Snapshot, t pipe.StageStats) station {
	u := t.Worked()
	all := station{name: t.Name, workers: max(1, t.Workers), share: u, alone: u, source: t.Kind == "source"}
	pids := map[int]bool{}
	for _, f := range s.Functions {
		if f.Within == t.Name {
			for _, pid := range f.PIDs {
				pids[pid] = true
			}
			all.python, all.here, all.given = true, f.Here, all.given || f.Given
			all.function += share(f.Time, time.Duration(all.workers)*s.Resources.Elapsed)
		}
	}
	capacity := time.Duration(s.Resources.Cores) * s.Resources.Elapsed
	if !all.python {
		all.cpu = min(u*float64(all.workers)/float64(s.Resources.Cores), engineCPU(s))
		return all
	}
	waited := 0.0
	for _, p := range s.Resources.Processes {
		if pids[p.PID] {
			all.cpu += share(p.CPU(), capacity)
			waited += delayed(p, s.Resources.Elapsed) / float64(all.workers)
		}
	}
	all.function = min(u, all.function)
	all.alone = max(u/4, min(u, all.function)-waited)
	return all
}

// engineCPU is the share of all CPUs' time that the engine takes.
func engineCPU(s Snapshot) float64 {
	for _, p := range s.Resources.Processes {
		if p.Name == "engine" {
			return share(p.CPU(), time.Duration(s.Resources.Cores)*s.Resources.Elapsed)
		}
	}
	return 0
}

// delayed is the share of the time in which a process could have worked and had no CPU.
func delayed(p Process, elapsed time.Duration) float64 {
	if p.Delayed == nil {
		return 0
	}
	return share(time.Duration(*p.Delayed), elapsed)
}

// times returns the station with so many times the work.
func (t station) times(factor float64) station {
	t.share, t.alone, t.cpu, t.function = factor*t.share, factor*t.alone, factor*t.cpu, factor*t.function
	return t
}

// less returns the station with so much less to do.
func (t station) less(share float64) station {
	t.share, t.alone = max(0, t.share-share), max(0, t.alone-share)
	return t
}

func (n network) clone() network {
	n.stages = slices.Clone(n.stages)
	return n
}

// all has the stages first. Where batches are made on demand, the consumer and the
// busiest of the others take turns, which is a station, too.
func (n network) all() []station {
	all := append(slices.Clone(n.stages), n.cpu)
	turns := n.loop
	for _, t := range all {
		turns.share = max(turns.share, n.loop.share+t.share)
	}
	if all = append(all, n.loop); n.onDemand {
		all = append(all, turns)
	}
	return all
}

// slowest is the stage with the most to do; -1: there is none that works.
func (n network) slowest() int {
	best := -1
	for i, t := range n.stages {
		if t.share > 0 && (best < 0 || t.share > n.stages[best].share) {
			best = i
		}
	}
	return best
}

// busiest is the greatest share that a station has.
func (n network) busiest() (most float64) {
	for _, t := range n.all() {
		most = max(most, t.share)
	}
	return most
}

// reaches returns the factor of the rate if the stations had the shares of another
// network. The busiest station works for no greater share of its time than the busiest
// does now, nor for more than stations that share samples with it by chance let it.
func (n network) reaches(then network) float64 {
	sum, most := 0.0, then.busiest()
	for _, t := range then.all() {
		sum += t.share
	}
	balanced := n.inHand / (n.inHand - 1 + sum/most)
	return max(1, min(1, n.busiest(), balanced)/most)
}
