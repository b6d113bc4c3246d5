package stats

import (
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats/stations"
)

// Clocks and CPU times of less than that say little.
const enough = 2 * time.Second

// networkOf returns the network of a run; not ok: too little was counted.
func networkOf(s Snapshot) (n stations.Network, ok bool) {
	switch {
	case len(s.Stages) == 0 || !judged(s) || s.Stalled != nil:
		return n, false
	case s.Resources.Cores == 0 || s.Resources.Elapsed < enough || s.Loop < enough:
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
	n = stations.Network{Rate: float64(samples) / float64(s.Yielded) * inLoop / s.Loop.Seconds(), Cores: s.Resources.Cores}
	n.Handed, n.OnDemand = share(s.Handed, s.Loop), s.Memory.Batches.OnDemand
	n.CPU, n.Loop = cpuOf(s), loopOf(s)

	for _, t := range s.Stages {
		n.Stages = append(n.Stages, stationOf(s, t))
		n.InHand += float64(max(1, t.Workers) * max(1, t.InFlightPerWorker))
	}
	lessWaitsOfTheEngine(&n, s)
	for _, q := range s.Queues {
		n.InHand += float64(q.Cap)
	}
	return n, true
}

// lessWaitsOfTheEngine makes the engine's stages need no more at least than the CPU time
// that the engine has had: its threads share the CPUs with other processes.
func lessWaitsOfTheEngine(n *stations.Network, s Snapshot) {
	busy, had := 0.0, engineCPU(s)*float64(n.Cores)
	for _, t := range n.Stages {
		if !t.Python {
			busy += t.Share * float64(t.Workers)
		}
	}
	for i, t := range n.Stages {
		if !t.Python && n.CPU.Share > saturated && had < busy {
			n.Stages[i].Alone *= had / busy
		}
	}
}

// cpuOf is the station of the CPUs.
func cpuOf(s Snapshot) stations.Station {
	used := time.Duration(0)
	for _, p := range s.Resources.Processes {
		used += p.CPU()
	}
	u := share(used, time.Duration(s.Resources.Cores)*s.Resources.Elapsed)
	if others, all, ok := s.Resources.others(); ok { // they stay
		u += others / all
	}
	u = min(1, u)
	return stations.Station{Name: "CPU", Workers: s.Resources.Cores, Share: u, Alone: u}
}

// loopOf is the station of the consumer: handing over and steps with where="main" are
// work of its thread.
func loopOf(s Snapshot) stations.Station {
	u := min(1, share(s.Loop-s.Waited+s.Handed+s.Main, s.Loop))
	l := stations.Station{Name: s.consumer(), Workers: 1, Share: u, Alone: u}
	for _, p := range s.Resources.Processes {
		if p.Name == "trainer" {
			l.Alone = max(u/4, u-delayed(p, s.Resources.Elapsed))
			l.CPU = share(p.CPU(), time.Duration(s.Resources.Cores)*s.Resources.Elapsed)
		}
	}
	return l
}

// stationOf is the station of a stage.
func stationOf(s Snapshot, t pipe.StageStats) stations.Station {
	u := t.Worked()
	all := stations.Station{
		Name: t.Name, Short: ShortName(t.Name), Workers: max(1, t.Workers), Share: u, Alone: u, Source: t.Kind == "source",
	}

	pids := map[int]bool{}
	for _, f := range s.Functions {
		if f.Within == t.Name {
			for _, pid := range f.PIDs {
				pids[pid] = true
			}
			all.Python, all.Here, all.Given = true, f.Here, all.Given || f.Given
			all.Function += share(f.Time, time.Duration(all.Workers)*s.Resources.Elapsed)
		}
	}

	capacity := time.Duration(s.Resources.Cores) * s.Resources.Elapsed
	if !all.Python {
		all.CPU = min(u*float64(all.Workers)/float64(s.Resources.Cores), engineCPU(s))
		return all
	}
	waited := 0.0
	for _, p := range s.Resources.Processes {
		if pids[p.PID] {
			all.CPU += share(p.CPU(), capacity)
			waited += delayed(p, s.Resources.Elapsed) / float64(all.Workers)
		}
	}
	all.Function = min(u, all.Function)
	all.Alone = max(u/4, min(u, all.Function)-waited)
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
